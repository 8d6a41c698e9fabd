# What is installed, and the Debian packages that `./package` makes of it: detol (the program with its
# configs, documents, manual pages, completions and the Python package), detol-cuda (the GPU backend,
# where it was built) and detol-dev (the C++ library).

install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/detol)
install(DIRECTORY python/detol DESTINATION lib/python3/dist-packages PATTERN __pycache__ EXCLUDE)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/detol)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/detol)
install(FILES LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/detol)

# The development packages of packages.txt, which detolConfig.cmake looks for.
file(STRINGS packages.txt lines)
set(development)
set(section)
foreach(line IN LISTS lines)
  if(line MATCHES "^\\[(.*)\\]")
    set(section ${CMAKE_MATCH_1})
  elseif(section STREQUAL "build" AND line MATCHES "^([a-z0-9.+-]+-dev)([^a-z0-9.+-]|$)")
    list(APPEND development ${CMAKE_MATCH_1})
  endif()
endforeach()
list(JOIN development ", " development)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME detol)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The detol developers <detol@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "finds neural networks and their hyperparameters")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_COMPONENTS_ALL program dev)
if(TARGET detol_cuda)
  list(APPEND CPACK_COMPONENTS_ALL cuda)
endif()

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME detol)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "graphviz, openmpi-bin, dataset-fashion-mnist")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "detol-cuda, gnuplot-nox, slurm-client, openssh-client, python3")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "Searches neural network architectures and hyperparameters together, on a laptop or a cluster;
every trial is in one SQLite file, from which searches resume and models are exported.")

# No shlibdeps: NVIDIA's libraries may come from packages of any name, or from none.
set(CPACK_DEBIAN_CUDA_PACKAGE_NAME detol-cuda)
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "detol (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_CUDA_DESCRIPTION "The GPU backend of detol, for CUDA ${CUDAToolkit_VERSION_MAJOR} and cuDNN 9.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME detol-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "detol (= ${PROJECT_VERSION}), ${development}")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Headers, static libraries and CMake package of detol.")
include(CPack)
