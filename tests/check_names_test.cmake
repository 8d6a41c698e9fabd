# The test of names must be able to fail: a second definition is refused with both places, and what
# only looks like one is accepted.
cmake_minimum_required(VERSION 3.25)

# Two files of one folder, each with its text inside that folder's namespace.
function(run one other status_variable output_variable)
  file(REMOVE_RECURSE ${TREE})
  file(WRITE ${TREE}/core/one.h "#pragma once\nnamespace detol::inline core {\nclass Base {};\n${one}\n}  // namespace detol::inline core\n")
  file(WRITE ${TREE}/core/other.cpp "namespace detol::inline core {\n${other}\n}  // namespace detol::inline core\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${TREE} -P ${CMAKE_CURRENT_LIST_DIR}/check_names.cmake
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  set(${status_variable} ${status} PARENT_SCOPE)
  set(${output_variable} "${output}" PARENT_SCOPE)
endfunction()

function(refused one other name)
  run("${one}" "${other}" status output)
  string(FIND "${output}" "core/other.cpp: ${name} is defined in core/one.h, too" found)
  if(status EQUAL 0 OR found LESS 0)
    message(SEND_ERROR "${name} was defined twice and not refused:\n${output}")
  endif()
endfunction()

function(accepted one other)
  run("${one}" "${other}" status output)
  if(NOT status EQUAL 0)
    message(SEND_ERROR "${one} and ${other} were refused:\n${output}")
  endif()
endfunction()

set(anonymous_end "}  // namespace")

refused("struct Timer {" "struct Timer {" "detol::inline core::Timer")
refused("struct Timer {" "class Timer final : public Base {" "detol::inline core::Timer")
refused("struct Timer {" "enum class Timer { kOn, kOff };" "detol::inline core::Timer")
refused("struct Timer { int x = 0; };" "struct Timer {};" "detol::inline core::Timer")
refused("struct Timer {" "namespace {\nint x;\n${anonymous_end}\nstruct Timer {" "detol::inline core::Timer")
refused("namespace event {\nstruct Timer {\n}  // namespace event" "namespace event {\nclass Timer\n    : public Base {\n}  // namespace event"
  "detol::inline core::event::Timer")

accepted("struct Timer {" "struct Clock {")
accepted("struct Timer {" "struct Timer;")
accepted("struct Timer {" "struct Timer::State {")
accepted("struct Timer {" "namespace {\nstruct Timer {\n${anonymous_end}")
accepted("struct Timer {" "namespace event {\nstruct Timer {\n}  // namespace event")
accepted("struct Timer {" "struct Timer make_timer() {")
accepted("struct Timer {" "class User {\n  struct Timer {")

file(REMOVE_RECURSE ${TREE})
execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${TREE} -P ${CMAKE_CURRENT_LIST_DIR}/check_names.cmake
  RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
if(status EQUAL 0)
  message(SEND_ERROR "an empty tree was accepted")
endif()

# Every folder has a namespace of its own, the inline one of its name.
file(REMOVE_RECURSE ${TREE})
file(WRITE ${TREE}/search/one.h "namespace detol {\nclass Base {};\n}  // namespace detol\n")
execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${TREE} -P ${CMAKE_CURRENT_LIST_DIR}/check_names.cmake
  RESULT_VARIABLE status ERROR_VARIABLE output)
if(status EQUAL 0 OR NOT output MATCHES "search/one.h: its namespace is detol::inline search")
  message(SEND_ERROR "a file outside of its folder's namespace was not refused:\n${output}")
endif()

# A constant of another file is refused, one of its own or of a header is not.
function(run_constants used status_variable output_variable)
  file(REMOVE_RECURSE ${TREE})
  file(WRITE ${TREE}/core/one.h "#pragma once\nnamespace detol::inline core {\nclass Base {};\nconstexpr int kShown = 1;\n}  // namespace detol::inline core\n")
  file(WRITE ${TREE}/core/one.cpp "namespace detol::inline core {\nnamespace {\nconstexpr int kLimit = 3;  // kOther\n}  // namespace\n}  // namespace detol::inline core\n")
  file(WRITE ${TREE}/core/other.cpp "namespace detol::inline core {\n${used}\n}  // namespace detol::inline core\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${TREE} -P ${CMAKE_CURRENT_LIST_DIR}/check_names.cmake
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(${status_variable} ${status} PARENT_SCOPE)
  set(${output_variable} "${output}" PARENT_SCOPE)
endfunction()
run_constants("int f() { return kLimit; }" status output)
if(status EQUAL 0 OR NOT output MATCHES "core/other.cpp: kLimit is a constant of core/one.cpp")
  message(SEND_ERROR "a constant of another file was not refused:\n${output}")
endif()
foreach(used "int f() {\n  constexpr int kLimit = 4;\n  return kLimit;\n}" "int f() { return kShown; }  // kLimit" "int kLimits;")
  run_constants("${used}" status output)
  if(NOT status EQUAL 0)
    message(SEND_ERROR "${used} was refused:\n${output}")
  endif()
endforeach()
