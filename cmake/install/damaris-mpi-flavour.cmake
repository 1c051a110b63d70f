# Which flavour the MPI targets of the project are, by what their headers and modules define: the names of the libraries do not tell.

set(_damaris_probe_of_C "#include <mpi.h>
#ifndef OPEN_MPI
#error
#endif
int main(void) { return 0; }")
set(_damaris_probe_of_CXX "${_damaris_probe_of_C}")
set(_damaris_probe_of_Fortran "program probe
use mpi, only: OMPI_MAJOR_VERSION
end program")
set(_damaris_any_of_C "#include <mpi.h>
int main(void) { return 0; }")
set(_damaris_any_of_CXX "${_damaris_any_of_C}")
set(_damaris_any_of_Fortran "program probe
use mpi, only: MPI_COMM_WORLD
end program")
set(_damaris_ending_of_C c)
set(_damaris_ending_of_CXX cxx)
set(_damaris_ending_of_Fortran f90)

# _damaris_compiles(RESULT LANGUAGE TEXT)
function(_damaris_compiles result language text)
  set(folder "${CMAKE_BINARY_DIR}/CMakeFiles/damaris-mpi-flavour")
  set(source "${folder}/probe.${_damaris_ending_of_${language}}")
  file(WRITE "${source}" "${text}\n")
  try_compile(_damaris_compiled "${folder}" SOURCES "${source}" LINK_LIBRARIES MPI::MPI_${language})
  set(${result} ${_damaris_compiled} PARENT_SCOPE)
  unset(_damaris_compiled CACHE)
endfunction()

# damaris_find_other_mpi(RESULT): the first target that is proved to be of another flavour than this Damaris, or nothing.
function(damaris_find_other_mpi result)
  set(${result} "" PARENT_SCOPE)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  foreach(language IN ITEMS C CXX Fortran)
    if(NOT TARGET MPI::MPI_${language} OR NOT language IN_LIST languages)
      continue()
    endif()
    _damaris_compiles(is_openmpi ${language} "${_damaris_probe_of_${language}}")
    set(is_other ${is_openmpi})
    if(damaris_MPI_FLAVOUR STREQUAL openmpi)
      set(is_other FALSE)
      if(NOT is_openmpi) # or the compiler fails for a reason of its own
        _damaris_compiles(is_other ${language} "${_damaris_any_of_${language}}")
      endif()
    endif()
    if(is_other)
      set(${result} "MPI::MPI_${language}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()
