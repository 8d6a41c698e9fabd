include(${CMAKE_CURRENT_LIST_DIR}/layers.cmake)

# The folders of the product: core, encodings, ..., and those of them that have rooms inside.
list(TRANSFORM rooms REPLACE "/.*" "" OUTPUT_VARIABLE detol_folders)
list(REMOVE_DUPLICATES detol_folders)
set(detol_divided_folders ${rooms})
list(FILTER detol_divided_folders INCLUDE REGEX "/")
list(TRANSFORM detol_divided_folders REPLACE "/.*" "")
list(REMOVE_DUPLICATES detol_divided_folders)

# detol_name(<variable> <room>): what its target is called behind detol_ and detol::. The files of a
# divided folder itself are a room, too: detol_trainer stands for all of trainer/, detol_trainer_own
# for those.
function(detol_name variable room)
  string(REPLACE "/" "_" name ${room})
  if(room IN_LIST detol_divided_folders)
    string(APPEND name _own)
  endif()
  set(${variable} ${name} PARENT_SCOPE)
endfunction()

# detol_libraries(<variable> <rooms>): their targets.
function(detol_libraries variable)
  set(libraries)
  foreach(room IN LISTS ARGN)
    detol_name(name ${room})
    list(APPEND libraries detol_${name})
  endforeach()
  set(${variable} ${libraries} PARENT_SCOPE)
endfunction()

# detol_module(<room> COMPUTES SOURCES ... HEADERS ... SIBLING_HEADERS ... LIBRARIES ... PRIVATE_LIBRARIES ...)
# One static library per room, called from that room's CMakeLists.txt. HEADERS are for everybody and
# installed, SIBLING_HEADERS for the rooms of the same top-level folder. COMPUTES: its loops are worth
# -O3; the presets' -O1, which compiles in two thirds of the time, is enough for rooms that wait for
# disks, processes and people. What it links to is its row of layers.cmake; the test `layers` holds
# every #include to that.
function(detol_module room)
  cmake_parse_arguments(M "COMPUTES" "" "SOURCES;HEADERS;SIBLING_HEADERS;LIBRARIES;PRIVATE_LIBRARIES" ${ARGN})
  detol_name(name ${room})
  set(target detol_${name})
  add_library(${target} STATIC ${M_SOURCES})
  add_library(detol::${name} ALIAS ${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${M_HEADERS})
  # Installed headers include each other as "core/result.h", users write <detol/core/result.h>.
  target_include_directories(${target} PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/detol>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  detol_libraries(used ${${room}_MAY_USE})
  target_link_libraries(${target} PUBLIC ${used} ${M_LIBRARIES}
    PRIVATE $<BUILD_INTERFACE:detol_flags> ${M_PRIVATE_LIBRARIES})
  if(M_COMPUTES)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O3>)
  endif()
  install(TARGETS ${target} EXPORT detol ARCHIVE COMPONENT dev
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/detol COMPONENT dev)
endfunction()

# detol_rooms(<folder>): adds the rooms inside a divided folder, and the target detol::<folder>, which
# is all of them.
function(detol_rooms folder)
  set(inside ${rooms})
  list(FILTER inside INCLUDE REGEX "^${folder}(/|$)")
  foreach(room IN LISTS inside)
    string(REGEX REPLACE "^${folder}/?" "" subfolder ${room})
    if(subfolder)
      add_subdirectory(${subfolder})
    endif()
  endforeach()
  detol_libraries(libraries ${inside})
  add_library(detol_${folder} INTERFACE)
  add_library(detol::${folder} ALIAS detol_${folder})
  set_target_properties(detol_${folder} PROPERTIES EXPORT_NAME ${folder})
  target_link_libraries(detol_${folder} INTERFACE ${libraries})
  install(TARGETS detol_${folder} EXPORT detol COMPONENT dev)
endfunction()

# detol_test(<name> SOURCES ... USES <folders> LABELS ... SHARDS n): one GoogleTest program. CTest starts a
# process for each of its tests, or with SHARDS one for each n-th part of them: for hundreds that take no time.
function(detol_test name)
  cmake_parse_arguments(T "" "TIMEOUT;SHARDS" "SOURCES;USES;LABELS" ${ARGN})
  if(NOT T_LABELS)
    set(T_LABELS unit)
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  add_executable(${name} ${T_SOURCES})
  target_compile_definitions(${name} PRIVATE DETOL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  list(TRANSFORM T_USES PREPEND detol::)
  target_link_libraries(${name} PRIVATE ${T_USES} detol_flags GTest::gtest_main)
  if(NOT T_SHARDS)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${T_LABELS}" TIMEOUT ${T_TIMEOUT})
    return()
  endif()
  math(EXPR last "${T_SHARDS} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${name}.${shard} COMMAND ${name})
    set_tests_properties(${name}.${shard} PROPERTIES LABELS "${T_LABELS}" TIMEOUT ${T_TIMEOUT}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${T_SHARDS};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()
