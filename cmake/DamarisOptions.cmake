# What a builder may choose. Every option says why one would change it.

set(DAMARIS_MPI openmpi CACHE STRING "MPI flavour: openmpi, mpich, or OFF (only the detached server and in-place modes)")
set_property(CACHE DAMARIS_MPI PROPERTY STRINGS openmpi mpich OFF)
option(DAMARIS_FORTRAN "Build the Fortran modules (needs a Fortran compiler)" ON)
option(DAMARIS_HDF5 "Build the hdf5 plugin (without it only users' plugins store anything)" ON)
option(DAMARIS_BUILD_TESTS "Build the tests (needs Catch2)" ${PROJECT_IS_TOP_LEVEL})
option(DAMARIS_BUILD_EXAMPLES "Build the example ladder and the CM1 mini-app" ${PROJECT_IS_TOP_LEVEL})
option(DAMARIS_BUILD_BENCH "Build damaris-bench" ${PROJECT_IS_TOP_LEVEL})
# Both OFF, as in preset debug: checks that each file includes what it uses; the build takes three times as long.
option(DAMARIS_PCH "Precompile the headers that most files include" ON)
option(DAMARIS_UNITY "Compile several files of a target at once" ON)
option(DAMARIS_LLD "Link with lld, which is faster, where it is installed (OFF: as the system links)" OFF)
option(DAMARIS_FUZZ "Build the fuzz targets and nothing else (needs clang with libFuzzer)" OFF)
set(DAMARIS_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=: address,undefined or thread")

if(NOT DAMARIS_MPI MATCHES "^(openmpi|mpich|OFF)$")
  message(FATAL_ERROR "DAMARIS_MPI is '${DAMARIS_MPI}'; allowed are openmpi, mpich and OFF.")
endif()
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Optimised unless asked otherwise" FORCE)
endif()

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

include(GNUInstallDirs)
# The build tree has the layout of the installed one, so that relative look-ups work in both.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(DAMARIS_PLUGIN_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/damaris/plugins")
set(DAMARIS_FORTRAN_MODULE_DIRECTORY "${PROJECT_BINARY_DIR}/include/fortran")
set(DAMARIS_INSTALL_PLUGINDIR "${CMAKE_INSTALL_LIBDIR}/damaris/plugins")
set(DAMARIS_INSTALL_FORTRANDIR "${CMAKE_INSTALL_INCLUDEDIR}/fortran")

# Programs need not be linked anew when a library's code changes: the tests after a change begin sooner.
set(CMAKE_LINK_DEPENDS_NO_SHARED ON)

# Both trees can be moved: every search path is relative to the file that has it.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

set(CMAKE_UNITY_BUILD ${DAMARIS_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 6)
find_program(DAMARIS_LLD_PROGRAM ld.lld)
if(DAMARIS_LLD AND DAMARIS_LLD_PROGRAM)
  add_link_options(-fuse-ld=lld)
endif()

find_program(DAMARIS_CCACHE ccache)
if(DAMARIS_CCACHE AND PROJECT_IS_TOP_LEVEL)
  # The sloppiness lets ccache work with precompiled headers. Base directory and hash let worktrees and presets share the cache:
  # the presets differ in few files.
  set(_launcher "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_NOHASHDIR=1
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} "${DAMARIS_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER ${_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${_launcher})
endif()
