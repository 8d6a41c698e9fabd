# A second MPI, for the tests: MPICH where FindMPI found another one. DETOL_MPICH_EXECUTABLE is its
# mpiexec, or not set.
if(BUILD_TESTING AND NOT MPI_CXX_LIBRARY_VERSION_STRING MATCHES "MPICH")
  pkg_check_modules(mpich IMPORTED_TARGET mpich)
  find_program(DETOL_MPICH_MPIEXEC mpiexec.mpich)
  if(mpich_FOUND AND DETOL_MPICH_MPIEXEC)
    set(DETOL_MPICH_EXECUTABLE ${DETOL_MPICH_MPIEXEC})
  endif()
endif()
