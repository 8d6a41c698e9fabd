# The test of circles must be able to fail: each tree below is refused for its circles, and for no other files.
cmake_minimum_required(VERSION 3.25)

# Each argument is "<file> <file that it includes>...".
function(check status_variable output_variable)
  file(REMOVE_RECURSE ${TREE})
  foreach(argument IN LISTS ARGN)
    separate_arguments(words UNIX_COMMAND "${argument}")
    list(POP_FRONT words file)
    set(text "// A file.\n")
    foreach(header IN LISTS words)
      string(APPEND text "#include \"${header}\"\n")
    endforeach()
    file(WRITE ${TREE}/${file} "${text}")
  endforeach()
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${TREE} -P ${CMAKE_CURRENT_LIST_DIR}/check_circles.cmake
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  set(${status_variable} ${status} PARENT_SCOPE)
  set(${output_variable} "${output}" PARENT_SCOPE)
endfunction()

function(refused reason)
  check(status output ${ARGN})
  string(FIND "${output}" "${reason}" reasoned)
  string(FIND "${output}" "bystander" blamed)
  if(status EQUAL 0 OR reasoned LESS 0 OR blamed GREATER_EQUAL 0)
    message(SEND_ERROR "${ARGN} was not refused because \"${reason}\" alone:\n${output}")
  endif()
endfunction()

function(accepted)
  check(status output ${ARGN})
  if(NOT status EQUAL 0)
    message(SEND_ERROR "${ARGN} was refused:\n${output}")
  endif()
endfunction()

set(pair "core/a.h" "core/a.cpp core/a.h core/b.h" "core/b.h core/a.h")
refused("core/a: a circle of 2 files: core/a.cpp includes core/b.h core/b.h includes core/a.h" ${pair})
refused("core/a: a circle of 2 files: core/a.cpp includes core/b.h core/b.cpp includes core/a.h"
  "core/a.h" "core/a.cpp core/b.h" "core/b.h" "core/b.cpp core/a.h")
refused("search/a: a circle of 3 files"
  "search/a.h search/b.h" "search/b.h" "search/b.cpp search/b.h search/c.h" "search/c.h search/a.h")
refused("core/b.cpp includes core/a_impl.h" "core/a.cpp core/b.h" "core/b.h" "core/b.cpp core/a_impl.h" "core/a_impl.h")
refused("trainer/backends/cuda/a: a circle of 2 files" "trainer/backends/cuda/a.cu trainer/backends/cuda/b.cuh"
  "trainer/backends/cuda/b.cuh trainer/backends/cuda/a.h" "trainer/backends/cuda/a.h")
refused("core/a: a circle of 2 files: core/a.cpp includes search/b.h search/b.cpp includes core/a.h"
  "core/a.h" "core/a.cpp search/b.h" "search/b.h" "search/b.cpp core/a.h")

# Of two circles both are named; who needs one, is needed by one, or stands between two is in none.
set(two ${pair} "search/c.h search/d.h" "search/d.h search/bystander.h search/c.h" "search/bystander.h core/a.h"
  "core/b.cpp core/bystander.h" "core/bystander.h" "cli/bystander.cpp search/c.h core/a.h")
refused("core/a: a circle of 2 files" ${two})
refused("search/c: a circle of 2 files" ${two})

accepted("core/a.h" "core/a.cpp core/a.h core/a_impl.h core/b.h" "core/a_impl.h core/a.h" "core/b.h core/c.h" "core/c.h")
accepted("search/searcher.h" "search/searchers.cpp search/searcher.h search/gp.h" "search/gp.h search/searcher.h"
  "search/gp.cpp search/gp.h")
accepted("core/a.cpp core/a.h core/missing.h" "core/a.h")
file(REMOVE_RECURSE ${TREE})
