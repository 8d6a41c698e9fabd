# The layer test must be able to fail: each line below, alone in a tree, is refused with its reason.
cmake_minimum_required(VERSION 3.25)

function(make_tree)
  file(REMOVE_RECURSE ${TREE})
  file(WRITE ${TREE}/core/CMakeLists.txt "detol_module(core SOURCES log.cpp HEADERS log.h)")
  file(WRITE ${TREE}/encodings/space/CMakeLists.txt
    "detol_module(encodings/space\n  HEADERS space.h trial.h\n  SIBLING_HEADERS codes.h)")
  file(WRITE ${TREE}/encodings/common/CMakeLists.txt "detol_module(encodings/common HEADERS encoding.h SIBLING_HEADERS path.h)")
  file(WRITE ${TREE}/trainer/backends/CMakeLists.txt "detol_module(trainer/backends HEADERS backend.h)")
  file(WRITE ${TREE}/search/user.cpp
    "#include \"core/log.h\"\n#include \"encodings/space/space.h\"\n#include \"encodings/space/trial.h\"\n")
  file(WRITE ${TREE}/encodings/chain/user.cpp
    "#include \"encodings/common/encoding.h\"\n#include \"encodings/common/path.h\"\n")
  file(WRITE ${TREE}/encodings/common/user.cpp "#include \"encodings/space/codes.h\"\n")
  file(WRITE ${TREE}/trainer/user.cpp "#include \"trainer/backends/backend.h\"\n")
endfunction()

function(run status_variable output_variable)
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${TREE} ${ARGN} -P ${CMAKE_CURRENT_LIST_DIR}/check_layers.cmake
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(${status_variable} ${status} PARENT_SCOPE)
  set(${output_variable} "${output}" PARENT_SCOPE)
endfunction()

function(check path line status_variable output_variable)
  make_tree()
  file(WRITE ${TREE}/${path} "#pragma once\n${line}\n")
  run(status output)
  set(${status_variable} ${status} PARENT_SCOPE)
  set(${output_variable} "${output}" PARENT_SCOPE)
endfunction()

function(refused path line reason)
  check(${path} "${line}" status output)
  string(FIND "${output}" "${path}: " named)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  string(FIND "${output}" "${reason}" reasoned)
  if(status EQUAL 0 OR named LESS 0 OR reasoned LESS 0)
    message(SEND_ERROR "${path} with ${line} was not refused because \"${reason}\":\n${output}")
  endif()
endfunction()

function(accepted path line)
  check(${path} "${line}" status output)
  if(NOT status EQUAL 0)
    message(SEND_ERROR "${path} with ${line} was refused:\n${output}")
  endif()
endfunction()

# Headers of core that its CMakeLists.txt makes public.
function(refused_headers headers reason)
  make_tree()
  file(WRITE ${TREE}/core/CMakeLists.txt "detol_module(core ${headers})")
  run(status output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  string(FIND "${output}" "${reason}" reasoned)
  if(status EQUAL 0 OR reasoned LESS 0)
    message(SEND_ERROR "core with ${headers} was not refused because \"${reason}\":\n${output}")
  endif()
endfunction()

# A table of rooms whose last row is this one.
function(refused_table row reason)
  make_tree()
  file(WRITE ${TREE}/layers.cmake "include(${CMAKE_CURRENT_LIST_DIR}/../cmake/layers.cmake)\n${row}\n")
  run(status output -DLAYERS=${TREE}/layers.cmake)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  string(FIND "${output}" "${reason}" reasoned)
  if(status EQUAL 0 OR reasoned LESS 0)
    message(SEND_ERROR "the table with ${row} was not refused because \"${reason}\":\n${output}")
  endif()
endfunction()

# Arrows between rooms.
refused(core/a.cpp              "#include \"search/searcher.h\""   "core may not use search")
refused(search/a.cpp            "#include \"knowledge/ledger.h\""  "search may not use knowledge")
refused(search/a.cpp            "#include \"encodings/common/encoding.h\"" "search may not use encodings/common")
refused(encodings/space/a.cpp   "#include \"encodings/common/encoding.h\"" "encodings/space may not use encodings/common")
refused(trainer/data/formats/a.cpp "  #  include \"scheduler/b.h\"" "trainer/data/formats may not use scheduler")
refused(trainer/backends/cpu/a.h   "#include \"trainer/train.h\""  "trainer/backends/cpu may not use trainer")
refused(trainer/backends/cuda/a.cu "#include \"trainer/backends/cpu/lanes.h\"" "trainer/backends/cuda may not use trainer/backends/cpu")
refused(trainer/backends/cuda/a.cuh "#include \"web/http_server.h\"" "trainer/backends/cuda may not use web")

# The folders that clang-tidy speaks of.
refused(.clang-tidy "HeaderFilterRegex: '/(core|search)/.*\\.(h|cpp)$'" "leaves out encodings/space")
refused(.clang-tidy "HeaderFilterRegex: '/.*\\.h$'" "leaves out core")

# What no room has.
refused(cli/a.cpp               "#include \"yaml-cpp/yaml.h\""     "does not lie in one of our rooms")
refused(cli/a.cpp               "#include \"commands.h\""          "does not lie in one of our rooms")
refused(cli/a.cpp               "#include \"trainer/new/a.h\""     "does not lie in one of our rooms")
refused(trainer/new/a.cpp       ""                                 "trainer/new is no room")
refused(trainer/backends/cpu/new/a.cpp "" "trainer/backends/cpu/new is no room")
refused(new/a.h                 ""                                 "new is no room")
refused(trainer/new/a.inc       ""                                 "trainer/new is no room")

# Included files that are no headers.
refused(core/a.cpp              "#include \"core/kernels.inc\""    "is no header")
refused(core/a.cpp              "#include \"core/log.cpp\""        "is no header")
refused(core/a.inc              "#include \"search/searcher.h\""   "core may not use search")

# Private headers.
refused(cli/a.cpp               "#include \"core/sinks.h\""        "is private to core")
refused(trainer/backends/cpu/a.cpp "#include \"trainer/backends/impl.h\"" "is private to trainer/backends")
refused(search/a.cpp            "#include \"encodings/space/codes.h\"" "is for rooms of its own top-level folder")
refused(core/log.h              "#include \"core/sinks.h\""        "public header may not include")
refused(encodings/space/space.h "#include \"encodings/space/codes.h\"" "public header may not include")
refused(encodings/common/encoding.h "#include \"encodings/space/codes.h\"" "public header may not include")

refused_headers("HEADERS log.h sinks.h"                 "core/sinks.h: no other room includes it")
refused_headers("HEADERS log.h SIBLING_HEADERS sinks.h" "core/sinks.h: no other room includes it")

# Libraries.
refused(scheduler/a.cpp         "#include <sqlite3.h>"             "belongs in knowledge/storage")
refused(knowledge/a.cpp         "#include <zmq.hpp>"               "belongs in scheduler/processes, not knowledge")
refused(scheduler/a.cpp         "#include <zmq.h>"                 "belongs in scheduler/processes, not scheduler")
refused(search/a.cpp            "#include <dnnl.hpp>"              "belongs in trainer/backends/cpu, not search")
refused(trainer/a.cpp           "#include <dnnl.hpp>"              "belongs in trainer/backends/cpu, not trainer")
refused(trainer/backends/a.cpp  "#include <cuda_runtime.h>"        "belongs in trainer/backends/cuda, not trainer/backends")
refused(encodings/study/a.cpp   "#include <yaml-cpp/yaml.h>"       "belongs in encodings/schema, not encodings/study")
refused(scheduler/a.cpp         "#include <mpi.h>"                 "belongs in trainer/collectives/mpi_group.cpp;trainer/collectives/mpi_sum.cpp;trainer/collectives/mpi_sum.h, not scheduler")
refused(trainer/collectives/a.cpp "#include <mpi.h>"               "belongs in trainer/collectives/mpi_group.cpp;trainer/collectives/mpi_sum.cpp;trainer/collectives/mpi_sum.h, not trainer/collectives")
refused(scheduler/a.cpp         "#include<zlib.h>"                 "belongs in trainer/data/formats, not scheduler")
refused(trainer/backends/cuda/a.cu "#include <google/protobuf/a.h>" "belongs in export, not trainer/backends/cuda")
refused(trainer/a.cpp           "#include <spdlog/spdlog.h>"       "belongs in core, not trainer")
refused(encodings/space/a.cpp   "#include <newlib/new.h>"          "no library that")

# Heavy headers in public ones.
refused(core/log.h              "#include <spdlog/spdlog.h>"       "too heavy for a public header")
refused(encodings/space/space.h "#include <nlohmann/json.hpp>"     "too heavy for a public header")
refused(encodings/space/codes.h "#include <nlohmann/json.hpp>"     "too heavy for a public header")

# The table.
refused_table("room(new core newer)\nroom(newer core new)"         "newer is not above it: a circle, or no room")
refused_table("room(new new)"                                      "new is not above it: a circle, or no room")
refused_table("room(core)"                                         "there are two")

accepted(encodings/space/private.h "#include <nlohmann/json.hpp>")
accepted(core/log.cpp           "#include \"core/sinks.h\"")
accepted(search/a.cpp           "#include \"encodings/space/space.h\"")
accepted(encodings/common/path.h "#include \"encodings/space/codes.h\"")
accepted(encodings/common/encoding.h "#include <nlohmann/json_fwd.hpp>")
accepted(core/log.cpp           "#include <spdlog/spdlog.h>")
accepted(cli/main.cpp           "#include \"core/log.h\"")
accepted(trainer/backends/cuda/a.cu "#include \"trainer/backends/cuda/kernel.cuh\"")
accepted(trainer/collectives/mpi_group.cpp "#include <mpi.h>")
accepted(scheduler/a.cpp        "#include <sys/wait.h>")
accepted(tests/a.cpp            "#include \"core/sinks.h\"")
file(REMOVE_RECURSE ${TREE})
