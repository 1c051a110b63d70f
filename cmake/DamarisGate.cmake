# Which tests of this build are in the gate, which is what `./dev test` runs: label `gate`, target `gate`. Everything else runs in
# `./dev test all`. Of the default build all tests are in it but the long ones; of the others those that their difference can break.

if(DAMARIS_SANITIZE STREQUAL "thread")
  # Races: what has threads.
  set(DAMARIS_GATE node unit_codec unit_core_base unit_core_shm unit_plugins_hdf5 unit_replay)
elseif(DAMARIS_SANITIZE)
  # Wrong accesses: what handles bytes of others (regions, lanes, manifests, files, XML), and servers that talk to each other.
  set(DAMARIS_GATE api_detached mpi_run mpi_shared_faults node node_hdf5 unit_codec unit_config unit_core_shm unit_manifest unit_plugins_hdf5
    unit_plugins_hdf5_parts unit_replay)
elseif(DAMARIS_MPI STREQUAL "mpich")
  # The other MPI and its HDF5: starting and ending, each kind of message and of file, both languages, what is installed, what is recorded.
  set(DAMARIS_GATE api_fork_mpi_1 api_fortran_mpi api_fortran_mpi_f08 "example_first_write_.*" hdf5_plugin_has_the_flavour "install_.*mpi.*"
    install_tree mpi_compare_groups mpi_compare_single mpi_compare_single_compressed mpi_compare_unequal_nodes mpi_errors mpi_no_finalize
    mpi_outside_mpi mpi_run mpi_shared_death mpi_shared_faults mpi_start mpi_views_single recorder_calls
    recorder_programs recorder_refusals unit_mpi)
elseif(NOT DAMARIS_MPI)
  # No MPI, and an HDF5 without it: processes that start a server, the plugin, what is installed, what is recorded.
  set(DAMARIS_GATE api_after_error api_cpp_session api_detached api_usage "example_no_mpi_.*" hdf5_plugin_has_the_flavour install_c_cmake
    install_fortran_pkgconfig install_tree node_hdf5 recorder_calls recorder_process recorder_programs unit_plugins_hdf5
    unit_plugins_read_hdf5)
else()
  set(DAMARIS_GATE ".*")
endif()
list(JOIN DAMARIS_GATE "|" DAMARIS_GATE)

# Everything that the tests of the gate need.
if(DAMARIS_BUILD_TESTS)
  add_custom_target(gate)
endif()

# damaris_in_gate(name variable label...): whether a test with these labels is in the gate.
function(damaris_in_gate name variable)
  set(${variable} OFF PARENT_SCOPE)
  if(name MATCHES "^(${DAMARIS_GATE})$" AND NOT "long" IN_LIST ARGN)
    set(${variable} ON PARENT_SCOPE)
  endif()
endfunction()

# damaris_build_for_gate(name word...): the test's own program, and those in the words of its command and environment.
function(damaris_build_for_gate name)
  if(NOT TARGET gate)
    return()
  endif()
  string(REGEX MATCHALL "TARGET_FILE:[^>]+" files "${ARGN}")
  list(TRANSFORM files REPLACE "TARGET_FILE:" "")
  if(files)
    add_dependencies(gate ${files})
  endif()
  if(name MATCHES "^(install|example|api|mpi)_")
    add_dependencies(gate installed)
  endif()
endfunction()
