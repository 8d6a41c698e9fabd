# Installs the build tree BUILD into a prefix of its own, builds the project consumer/ against it and runs
# what comes out: the programs of DOCUMENT, and searchers.cpp. The packages that only other components need
# cannot be found.
cmake_minimum_required(VERSION 3.25)
set(prefix ${BUILD}/installed)
set(consumer ${BUILD}/consumer)
file(REMOVE_RECURSE ${prefix} ${consumer})

function(run)
  execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGV}: ${status}\n${output}")
  endif()
  message(STATUS "${output}")
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
foreach(file man/man1/detol.1 man/man1/detol-search.1 bash-completion/completions/detol)
  if(NOT EXISTS ${prefix}/share/${file})
    message(FATAL_ERROR "the installation lacks share/${file}")
  endif()
endforeach()
file(MAKE_DIRECTORY ${consumer}/programs)
run(awk [[
/^```cpp/ {
  n++
  file = out "/program_" n ".cpp"
  next
}
/^```/ {file = ""}
file {print > file}]] out=${consumer}/programs ${DOCUMENT})
set(without)
foreach(package MPI dnnl ONNX Protobuf LibArchive PNG ZLIB OpenMP)
  list(APPEND without -DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
endforeach()
run(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${consumer}
  -DCMAKE_PREFIX_PATH=${prefix} -DPROGRAMS=${consumer}/programs -DCMAKE_CXX_FLAGS=${FLAGS} ${without})
run(${CMAKE_COMMAND} --build ${consumer})
foreach(program searchers program_1 program_2 program_3)
  run(${CMAKE_COMMAND} -E chdir ${consumer} ./${program})
endforeach()
run(${CMAKE_COMMAND} -E chdir ${consumer} ./program_2)  # resumes what it finds
