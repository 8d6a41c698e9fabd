# Text from outside is read by parse_json() and written by compact() (core/json_text.h) alone: the
# library's own parse() builds what is nested without end, and its dump() throws where bytes are not
# UTF-8. Run with -DROOT=<repository>.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/layers.cmake)

foreach(room IN LISTS rooms)
  file(GLOB files RELATIVE ${ROOT} ${ROOT}/${room}/*.cpp ${ROOT}/${room}/*.h)
  foreach(file IN LISTS files)
    if(file MATCHES "^core/json_text\\.")
      continue()
    endif()
    file(STRINGS ${ROOT}/${file} found REGEX "[jJ]son::(parse|accept)\\(|(\\.|->)dump\\(")
    foreach(line IN LISTS found)
      message(SEND_ERROR "${file}: '${line}': use core/json_text.h")
    endforeach()
  endforeach()
endforeach()
