# How tests are made. Each one has a time limit of its own, prints the stacks of all its processes when that is over, and fails when
# it leaves a process behind (scripts/bounded). A test that cannot run here prints "SKIP: reason" and exits with 77.

include(CTest)
set(DAMARIS_PYTHON "" CACHE FILEPATH "Python with the packages of requirements.txt, for the tests that read files")
if(NOT DAMARIS_PYTHON)
  set(DAMARIS_PYTHON "${PROJECT_SOURCE_DIR}/.venv/bin/python")
  if(NOT EXISTS "${DAMARIS_PYTHON}")
    set(DAMARIS_PYTHON python3)
  endif()
endif()

set(DAMARIS_SANITIZER_ENVIRONMENT)
if(DAMARIS_SANITIZE)
  # HDF5 is not instrumented: what it reads and writes counts for nothing, its locks do.
  set(DAMARIS_SANITIZER_ENVIRONMENT "UBSAN_OPTIONS=print_stacktrace=1" "TSAN_OPTIONS=second_deadlock_stack=1:ignore_noninstrumented_modules=1"
    "LSAN_OPTIONS=suppressions='${PROJECT_SOURCE_DIR}/test/support/leaks.supp':print_suppressions=0")
endif()

# damaris_script_test(name COMMAND ... [LABELS ...] [TIMEOUT s] [ENVIRONMENT A=b ...] [PROCESSORS n])
# Any command as a test, in a folder of its own, with the built tree on its paths. Label `long`: not in the gate (DamarisGate.cmake).
function(damaris_script_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;PROCESSORS" "COMMAND;LABELS;ENVIRONMENT")
  damaris_in_gate(${name} in_gate ${arg_LABELS})
  if(in_gate)
    list(APPEND arg_LABELS gate)
    damaris_build_for_gate(${name} ${arg_COMMAND} ${arg_ENVIRONMENT})
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  # TIMEOUT is what a test may take on a machine that it has to itself.
  math(EXPR arg_TIMEOUT "3 * ${arg_TIMEOUT}")
  if(DAMARIS_SANITIZE)
    math(EXPR arg_TIMEOUT "3 * ${arg_TIMEOUT}")
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  set(work "${PROJECT_BINARY_DIR}/test/work/${name}")
  file(MAKE_DIRECTORY "${work}")
  add_test(NAME ${name} WORKING_DIRECTORY "${work}"
    COMMAND "${PROJECT_SOURCE_DIR}/scripts/bounded" ${arg_TIMEOUT} ${arg_COMMAND})
  math(EXPR hard_limit "${arg_TIMEOUT} + 300") # the stacks of many processes take long
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABELS}" TIMEOUT ${hard_limit} PROCESSORS ${arg_PROCESSORS} SKIP_RETURN_CODE 77
    ENVIRONMENT "DAMARIS_SOURCE_DIR=${PROJECT_SOURCE_DIR};DAMARIS_BUILD_DIR=${PROJECT_BINARY_DIR};DAMARIS_PLUGIN_PATH=${DAMARIS_PLUGIN_OUTPUT_DIRECTORY};DAMARIS_MPI_FLAVOUR=${DAMARIS_MPI};DAMARIS_PYTHON=${DAMARIS_PYTHON};${DAMARIS_SANITIZER_ENVIRONMENT};${arg_ENVIRONMENT}"
    ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:${PROJECT_BINARY_DIR}/bin;PYTHONPATH=path_list_prepend:${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/damaris/python")
endfunction()

# damaris_test_program(name SOURCES ... [LINK ...] [MAIN catch|catch_mpi|none] [OPTIMISED])
# A Catch2 program; its headers are found from src and from test. Its own code is compiled without optimisation, which takes half the
# time; OPTIMISED is for one that computes much by itself.
function(damaris_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMISED" "MAIN" "SOURCES;LINK")
  if(NOT arg_MAIN)
    set(arg_MAIN catch)
  endif()
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/bin")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/test")
  target_link_libraries(${name} PRIVATE ${arg_LINK} damaris_options)
  if(NOT arg_MAIN STREQUAL none)
    damaris_catch_main(${arg_MAIN})
    target_link_libraries(${name} PRIVATE damaris_${arg_MAIN}_main)
  endif()
  if(NOT arg_OPTIMISED AND NOT arg_MAIN STREQUAL none)
    target_compile_options(${name} PRIVATE -O0)
    damaris_precompile(${name} test LINK Catch2::Catch2 nlohmann_json::nlohmann_json
      HEADERS <catch2/catch.hpp> <random> <sstream> <nlohmann/json.hpp>)
  endif()
endfunction()

# damaris_test(name SOURCES ... [LINK ...] [LABELS ...] [TIMEOUT s] [ENVIRONMENT ...] [ARGS ...] [OPTIMISED] [LONG_CASES])
# A Catch2 program that ctest runs as one test. LINK is damaris_internal unless said otherwise (damaris::damaris for tests that must see only the public headers).
# LONG_CASES: its cases tagged [long] or [unpromised] (what docs/fault-model.md does not promise) are a test of their own, <name>_long.
function(damaris_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMISED;LONG_CASES" "TIMEOUT;PROCESSORS" "SOURCES;LINK;LABELS;ENVIRONMENT;ARGS")
  if(NOT DEFINED arg_LINK)
    set(arg_LINK damaris_internal)
  endif()
  set(optimised)
  if(arg_OPTIMISED)
    set(optimised OPTIMISED)
  endif()
  damaris_test_program(${name} SOURCES ${arg_SOURCES} LINK ${arg_LINK} ${optimised})
  set(settings TIMEOUT ${arg_TIMEOUT} PROCESSORS ${arg_PROCESSORS} ENVIRONMENT ${arg_ENVIRONMENT})
  if(arg_LONG_CASES AND arg_ARGS)
    message(FATAL_ERROR "${name}: ARGS and LONG_CASES both choose cases")
  elseif(arg_LONG_CASES)
    damaris_script_test(${name}_long COMMAND $<TARGET_FILE:${name}> "[long],[unpromised]" LABELS ${arg_LABELS} long ${settings})
    set(arg_ARGS "~[long]~[unpromised]" -w NoTests)
  endif()
  damaris_script_test(${name} COMMAND $<TARGET_FILE:${name}> ${arg_ARGS} LABELS ${arg_LABELS} ${settings})
endfunction()

# For a program under MPI: what a sanitizer finds at its end can be told from what MPI leaves. Nothing without a sanitizer.
function(damaris_keep_loaded program)
  if(NOT DAMARIS_SANITIZE)
    return()
  endif()
  if(NOT TARGET damaris_keep_loaded)
    add_library(damaris_keep_loaded OBJECT "${PROJECT_SOURCE_DIR}/test/support/keep_loaded.c")
  endif()
  target_link_libraries(${program} PRIVATE damaris_keep_loaded)
  set_target_properties(${program} PROPERTIES ENABLE_EXPORTS ON)
endfunction()

# damaris_mpi_test(name RANKS n [SOURCES ... | COMMAND program ...] [NODES "3,5"] [LINK ...] [LABELS ...] [TIMEOUT s] [ENVIRONMENT ...])
# Runs under the chosen MPI flavour. SOURCES make a Catch2 program whose main starts MPI and joins the results of all ranks
# (its cases run on every rank); COMMAND is any MPI program. NODES groups the ranks into virtual nodes.
function(damaris_mpi_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "RANKS;TIMEOUT;NODES" "SOURCES;COMMAND;LINK;LABELS;ENVIRONMENT")
  if(NOT DAMARIS_MPI)
    return()
  endif()
  if(arg_SOURCES)
    if(NOT DEFINED arg_LINK)
      set(arg_LINK damaris_mpi damaris_internal)
    endif()
    damaris_test_program(${name} SOURCES ${arg_SOURCES} LINK ${arg_LINK} MPI::MPI_C MAIN catch_mpi)
    set(arg_COMMAND $<TARGET_FILE:${name}> --use-colour no)
    set(tag -t)
  endif()
  if(TARGET ${name})
    damaris_keep_loaded(${name})
  endif()
  if(arg_NODES)
    list(APPEND arg_ENVIRONMENT "DAMARIS_RANKS_PER_NODE=${arg_NODES}")
  endif()
  damaris_script_test(${name} COMMAND "${PROJECT_SOURCE_DIR}/scripts/mpi-run" ${DAMARIS_MPI} ${tag} -n ${arg_RANKS} ${arg_COMMAND}
    LABELS mpi ${arg_LABELS} TIMEOUT ${arg_TIMEOUT} PROCESSORS 2 ENVIRONMENT ${arg_ENVIRONMENT})
endfunction()

# The main functions of the test programs, compiled once, on first use.
function(damaris_catch_main kind)
  if(NOT TARGET damaris_catch_main)
    add_library(damaris_catch_main OBJECT "${PROJECT_SOURCE_DIR}/test/support/catch_main.cpp")
    target_link_libraries(damaris_catch_main PUBLIC Catch2::Catch2)
    target_compile_options(damaris_catch_main PRIVATE -O0) # Catch itself takes long to compile, and is not what we test
  endif()
  if(kind STREQUAL catch_mpi AND NOT TARGET damaris_catch_mpi_main)
    add_library(damaris_catch_mpi_main OBJECT "${PROJECT_SOURCE_DIR}/test/support/catch_mpi_main.cpp")
    target_link_libraries(damaris_catch_mpi_main PUBLIC Catch2::Catch2 MPI::MPI_C)
    target_compile_options(damaris_catch_mpi_main PRIVATE -O0)
  endif()
endfunction()
