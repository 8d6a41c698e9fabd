# The test of documents must be able to fail: a document that names a file that is not there, and a
# room without a README.md.
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
file(REMOVE_RECURSE ${TREE})
