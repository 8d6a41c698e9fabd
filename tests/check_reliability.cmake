# Every test that docs/RELIABILITY.md names as `Suite.Name` is there, so that a promise does not lose
# its test when that is renamed. Run with -DROOT=<repository>.

cmake_minimum_required(VERSION 3.25)

file(READ ${ROOT}/docs/RELIABILITY.md document)
string(REGEX MATCHALL "`[A-Z][A-Za-z0-9]*\\.[A-Z][A-Za-z0-9_]*`" promises "${document}")
list(LENGTH promises count)
if(count LESS 20)
  message(FATAL_ERROR "docs/RELIABILITY.md names only ${count} tests")
endif()

set(tests "")
file(GLOB_RECURSE files ${ROOT}/tests/*_test.cpp)
foreach(file IN LISTS files)
  file(STRINGS ${file} lines REGEX "^TEST(_F|_P)?\\(")
  foreach(line IN LISTS lines)
    if(line MATCHES "\\(([A-Za-z0-9]+), *([A-Za-z0-9_]+)\\)")
      list(APPEND tests "`${CMAKE_MATCH_1}.${CMAKE_MATCH_2}`")
    endif()
  endforeach()
endforeach()

foreach(promise IN LISTS promises)
  if(NOT promise IN_LIST tests)
    message(SEND_ERROR "docs/RELIABILITY.md: there is no test ${promise}")
  endif()
endforeach()
