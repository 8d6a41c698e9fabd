# Installs the build tree BUILD into a prefix of its own, builds the project consumer/ against
# it and runs the result.
cmake_minimum_required(VERSION 3.25)
set(prefix ${BUILD}/installed)
set(consumer ${BUILD}/consumer)
file(REMOVE_RECURSE ${prefix} ${consumer})

function(run)
  execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGV}: ${status}\n${output}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${consumer}
  -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_FLAGS=${FLAGS})
run(${CMAKE_COMMAND} --build ${consumer})
run(${consumer}/library_example)
