# The GPU backend: a library of its own, built where nvcc, cuDNN 9 and cuBLASLt are found; NCCL
# where it is. The sources are named apart from the target: the tests build them once more, for a
# device that they emulate.
set(detol_cuda_sources
  device.cpp matmul.cpp conv_shape.cpp cudnn_graph.cpp conv_plans.cpp product_plan.cpp parameters.cpp builder.cpp sums.cpp
  lower_products.cpp lower_norms.cpp lower_elements.cpp lower_attention.cpp recording.cpp compiled.cpp
  device_data.cpp resident.cpp executable.cpp time_algorithms.cpp measure.cpp plugin_entry.cpp)
set(detol_cuda_kernels
  attention.cu elements.cu norm.cu layer_norm.cu windows.cu depthwise.cu tile_conv.cu loss.cu batch.cu optimizer.cu)
list(TRANSFORM detol_cuda_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
list(TRANSFORM detol_cuda_kernels PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
set_property(GLOBAL PROPERTY detol_cuda_sources ${detol_cuda_sources})
set_property(GLOBAL PROPERTY detol_cuda_kernels ${detol_cuda_kernels})

# A sixth of a first build, so only a machine that may use it builds it unasked.
set(has_nvidia_driver OFF)
if(EXISTS /proc/driver/nvidia/version OR EXISTS /dev/nvidiactl)
  set(has_nvidia_driver ON)
endif()
option(DETOL_CUDA "Build the GPU backend where CUDA and cuDNN are found" ${has_nvidia_driver})
set(DETOL_CUDA_MISSING "" CACHE INTERNAL "why there is no GPU backend")
if(NOT DETOL_CUDA AND has_nvidia_driver)
  set(DETOL_CUDA_MISSING "DETOL_CUDA is off" CACHE INTERNAL "")
elseif(NOT DETOL_CUDA)
  set(DETOL_CUDA_MISSING "there was no NVIDIA driver when detol was built, and -DDETOL_CUDA=ON was not asked for" CACHE INTERNAL "")
endif()
if(NOT DETOL_CUDA)
  message(STATUS "GPU backend: left out (${DETOL_CUDA_MISSING})")
  return()
endif()

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual)
endif()
include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  find_package(CUDAToolkit 12)
endif()
foreach(root ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_TARGET_DIR} /usr/local/cuda)
  list(APPEND detol_cuda_hints ${root})
endforeach()
find_path(DETOL_CUDNN_INCLUDE cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${detol_cuda_hints} PATH_SUFFIXES include)
find_library(DETOL_CUDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR} ${detol_cuda_hints} PATH_SUFFIXES lib lib64)
find_path(DETOL_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${detol_cuda_hints} PATH_SUFFIXES include)
find_library(DETOL_NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR} ${detol_cuda_hints} PATH_SUFFIXES lib lib64)
foreach(needed "nvcc:CMAKE_CUDA_COMPILER" "the CUDA toolkit 12 or newer:CUDAToolkit_FOUND"
        "cudnn.h:DETOL_CUDNN_INCLUDE" "libcudnn:DETOL_CUDNN_LIBRARY")
  string(REPLACE ":" ";" needed "${needed}")
  list(GET needed 0 what)
  list(GET needed 1 found)
  if(NOT ${found} AND NOT DETOL_CUDA_MISSING)
    set(DETOL_CUDA_MISSING "${what} is missing" CACHE INTERNAL "")
  endif()
endforeach()
if(DETOL_CUDA_MISSING)
  message(STATUS "GPU backend: left out (${DETOL_CUDA_MISSING})")
  return()
endif()
message(STATUS "GPU backend: CUDA ${CUDAToolkit_VERSION}, cuDNN in ${DETOL_CUDNN_LIBRARY}")

if(DETOL_NCCL_INCLUDE AND DETOL_NCCL_LIBRARY)
  set(detol_cuda_nccl ${CMAKE_CURRENT_SOURCE_DIR}/sums_nccl.cpp)
  set(detol_cuda_libraries ${DETOL_NCCL_LIBRARY})
else()
  set(detol_cuda_nccl ${CMAKE_CURRENT_SOURCE_DIR}/sums_alone.cpp)
  message(STATUS "GPU backend: without NCCL, groups of GPUs add up their gradients through MPI")
endif()
set_property(GLOBAL APPEND PROPERTY detol_cuda_sources ${detol_cuda_nccl})

enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
add_library(detol_cuda MODULE ${detol_cuda_sources} ${detol_cuda_nccl} ${detol_cuda_kernels})
set_target_properties(detol_cuda PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
  CUDA_RUNTIME_LIBRARY Static INSTALL_RPATH_USE_LINK_PATH ON)
target_include_directories(detol_cuda PRIVATE ${PROJECT_SOURCE_DIR})
target_include_directories(detol_cuda SYSTEM PRIVATE ${DETOL_CUDNN_INCLUDE})
# The program's own code is linked in once more, and hidden: what the library needs of it is small.
detol_libraries(room_libraries ${trainer/backends/cuda_MAY_USE})
target_link_options(detol_cuda PRIVATE -Wl,--exclude-libs,ALL -Wl,--no-undefined)
target_link_libraries(detol_cuda PRIVATE ${room_libraries} detol_flags CUDA::cudart_static CUDA::cublasLt ${DETOL_CUDNN_LIBRARY} ${detol_cuda_libraries})
target_compile_options(detol_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
install(TARGETS detol_cuda LIBRARY DESTINATION lib/detol COMPONENT cuda)  # where load.cpp looks, from bin/
