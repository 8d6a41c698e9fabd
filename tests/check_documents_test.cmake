# The test of documents must be able to fail: a document that names a file that is not there, a room
# whose README.md is missing or too long, one whose row says something else than the build does, lines
# of prose that are too wide, and first pages and results that are too long.
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

# Writes a file of a good tree, which must be refused for the reason.
function(check_file file text reason)
  file(REMOVE_RECURSE ${TREE})
  file(WRITE ${TREE}/core/README.md "")
  file(WRITE ${TREE}/${file} "${text}")
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${TREE} -P ${CMAKE_CURRENT_LIST_DIR}/check_documents.cmake
    RESULT_VARIABLE status ERROR_VARIABLE output)
  if(status EQUAL 0 OR NOT output MATCHES "${reason}")
    message(SEND_ERROR "${file} was not refused (${reason}):\n${output}")
  endif()
endfunction()

string(REPEAT "a line; of a README\n" 61 lines)
check_file(core/README.md "${lines}" "core/README.md: 61 lines")
check_file(README.md "${lines}" "README.md: 61 lines")
string(REPEAT "a line; of [results]\n" 81 lines)
check_file(experiments/one/RESULTS.md "${lines}" "experiments/one/RESULTS.md: 81 lines")
string(REPEAT "four words; of [it]\n" 276 words)
check_file(README.md "${words}" "README.md: 1104 words; at most 500")
check_file(docs/ARCHITECTURE.md "${words}" "docs/ARCHITECTURE.md: 1104 words; at most 1100")

check_file(docs/architecture/rooms.md "| `core/` | errors | search |\n" "the row of `core/` must end with")

string(REPEAT "prose; " 21 prose)
check_file(docs/guide.md "one\n\n${prose}\n" "docs/guide.md:3: 147 characters")
check_file(docs/guide.md "```\n${prose}\n```\n- ${prose}\n" "docs/guide.md:4: 149 characters")
check("| ${prose} |"                     accepted "")
check("    ${prose}"                     accepted "")
check("```\n${prose}\n```"               accepted "")
check("${prose} https://example.com/a"   accepted "")
file(REMOVE_RECURSE ${TREE})
