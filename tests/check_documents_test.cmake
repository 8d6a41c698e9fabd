# The test of documents must be able to fail: a document that names a file that is not there, a room
# whose README.md is missing or too long, and one whose row says something else than the build does.
cmake_minimum_required(VERSION 3.25)

function(check text expected reason)
  file(REMOVE_RECURSE ${TREE})
  file(WRITE ${TREE}/core/log.h "")
  if(NOT reason MATCHES "README")
    file(WRITE ${TREE}/core/README.md "")
  endif()
  file(WRITE ${TREE}/docs/guide.md "${text}\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${TREE} -P ${CMAKE_CURRENT_LIST_DIR}/check_documents.cmake
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(FIND "${output}" "${reason}" reasoned)
  if((expected STREQUAL refused AND (status EQUAL 0 OR reasoned LESS 0)) OR
     (expected STREQUAL accepted AND NOT status EQUAL 0))
    message(SEND_ERROR "${text} was not ${expected}:\n${output}")
  endif()
endfunction()

check("see `core/lgo.h`; [so]"           refused "docs/guide.md: there is no core/lgo.h")
check("see `core/new/log.h`"             refused "docs/guide.md: there is no core/new/log.h")
check("see `core/log.h`"                 refused "core/README.md: every room has one")
check("see `core/log.h`, `core/log_*.h`" accepted "")
check("see `other/log.h`, `~/core/a.h`"  accepted "")

string(REPEAT "a line; of a README\n" 61 too_long)
file(WRITE ${TREE}/core/README.md "${too_long}")
execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${TREE} -P ${CMAKE_CURRENT_LIST_DIR}/check_documents.cmake
  RESULT_VARIABLE status ERROR_VARIABLE output)
if(status EQUAL 0 OR NOT output MATCHES "core/README.md: 61 lines")
  message(SEND_ERROR "a README.md of 61 lines was not refused:\n${output}")
endif()
file(WRITE ${TREE}/core/README.md "")

file(WRITE ${TREE}/docs/architecture/rooms.md "| `core/` | errors | search |\n")
execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${TREE} -P ${CMAKE_CURRENT_LIST_DIR}/check_documents.cmake
  RESULT_VARIABLE status ERROR_VARIABLE output)
if(status EQUAL 0 OR NOT output MATCHES "the row of `core/` must end with")
  message(SEND_ERROR "a room that may use what its row does not say was not refused:\n${output}")
endif()
file(REMOVE_RECURSE ${TREE})
