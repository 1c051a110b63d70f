# How targets of this project are made: warnings, sanitizers, search paths and output places are said here and nowhere else.

add_library(damaris_options INTERFACE)
target_compile_options(damaris_options INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra>
  # No place of the sources in what is built: the tree can be moved, and clones share one compiler cache.
  $<$<COMPILE_LANG_AND_ID:C,GNU,Clang>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>
  $<$<COMPILE_LANGUAGE:Fortran>:-Wall>)
if(DAMARIS_SANITIZE)
  target_compile_options(damaris_options INTERFACE
    -fsanitize=${DAMARIS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>) # instrumented code makes gcc see it everywhere
  target_compile_options(damaris_options INTERFACE -Og -g1) # instrumented, -O1 and above take minutes a file
  target_link_options(damaris_options INTERFACE -fsanitize=${DAMARIS_SANITIZE})
endif()
if(DAMARIS_FUZZ)
  target_compile_options(damaris_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# The installed headers, version.h among them: what plugins and users' code may know.
configure_file("${PROJECT_SOURCE_DIR}/cmake/version.h.in" "${PROJECT_BINARY_DIR}/include/damaris/version.h" @ONLY)
if(DAMARIS_MPI)
  set(DAMARIS_MPI_IS_OPENMPI 0)
  if(DAMARIS_MPI STREQUAL openmpi)
    set(DAMARIS_MPI_IS_OPENMPI 1)
  endif()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/mpi_flavour.h.in" "${PROJECT_BINARY_DIR}/include/damaris/mpi_flavour.h" @ONLY)
endif()
add_library(damaris_headers INTERFACE)
add_library(damaris::plugin ALIAS damaris_headers)
set_target_properties(damaris_headers PROPERTIES EXPORT_NAME plugin)
target_include_directories(damaris_headers INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# What is installed, without tests and examples.
add_custom_target(installed)

# damaris_precompile(target kind LINK library... HEADERS header...): headers of the standard library and of these libraries, compiled once
# for all targets of a kind, which have the same options; otherwise they take most of a file's compile time.
function(damaris_precompile name kind)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LINK;HEADERS")
  if(NOT DAMARIS_PCH)
    return()
  endif()
  set(precompiled damaris_precompiled_${kind})
  if(NOT TARGET ${precompiled})
    add_library(${precompiled} OBJECT "${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp")
    target_link_libraries(${precompiled} PRIVATE ${arg_LINK} damaris_options)
    foreach(property IN ITEMS COMPILE_OPTIONS POSITION_INDEPENDENT_CODE CXX_VISIBILITY_PRESET)
      get_target_property(value ${name} ${property})
      if(value)
        set_property(TARGET ${precompiled} PROPERTY ${property} ${value})
      endif()
    endforeach()
    target_precompile_headers(${precompiled} PRIVATE <algorithm> <array> <atomic> <cerrno> <chrono> <cstdint> <cstring> <filesystem> <fstream>
      <functional> <limits> <map> <memory> <mutex> <optional> <set> <string> <string_view> <thread> <utility> <vector> ${arg_HEADERS})
  endif()
  target_precompile_headers(${name} REUSE_FROM ${precompiled})
endfunction()

# damaris_hidden_library(name SOURCES ... [LINK ...]): static, linked into plugins, programs and tests, seen by nobody outside.
function(damaris_hidden_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_library(${name} STATIC ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE damaris_options)
  damaris_precompile(${name} hidden LINK nlohmann_json::nlohmann_json HEADERS <nlohmann/json.hpp>)
endfunction()

# damaris_object_library(name SOURCES ... [LINK ...])
# One folder's objects, later part of libdamaris or libdamaris_server; internal headers are included as "core/base/error.hpp" from src.
function(damaris_object_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_library(${name} OBJECT ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  # Nobody replaces a function of ours at load time: so calls inside the library are direct, and small ones are inlined.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-fno-semantic-interposition>)
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${name} PUBLIC damaris_headers ${arg_LINK} PRIVATE damaris_options)
  damaris_precompile(${name} object LINK fmt::fmt HEADERS <fmt/format.h> <fmt/ranges.h>)
endfunction()

# Where a library or program finds the others: installed, and in the build tree, which has the same layout. A path of its own
# there CMake would fill up with colons, and an empty part is the working directory: anybody's library would be taken.
function(damaris_search_path name path)
  set_target_properties(${name} PROPERTIES INSTALL_RPATH "${path}" BUILD_WITH_INSTALL_RPATH ON)
endfunction()

# damaris_shared_library(name SOURCES ... [LINK ...] [PRIVATE ...]): an installed library of its own, such as damaris_mpi.
# LINK is what its users need too; PRIVATE what only it needs (damaris_internal for code that uses internal headers).
function(damaris_shared_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;PRIVATE")
  add_library(${name} SHARED ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE ${arg_PRIVATE} damaris_options)
  set_target_properties(${name} PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  damaris_search_path(${name} "$ORIGIN")
  install(TARGETS ${name} EXPORT damaris LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  add_dependencies(installed ${name})
endfunction()

# damaris_plugin(name SOURCES ... [LINK ...]): a module damaris_<name>.so in the plugin folder; it knows only include/damaris.
function(damaris_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_library(damaris_plugin_${name} MODULE ${arg_SOURCES})
  target_link_libraries(damaris_plugin_${name} PRIVATE damaris_headers ${arg_LINK} damaris_options)
  set_target_properties(damaris_plugin_${name} PROPERTIES
    PREFIX "" OUTPUT_NAME damaris_${name} LIBRARY_OUTPUT_DIRECTORY "${DAMARIS_PLUGIN_OUTPUT_DIRECTORY}"
    CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden)
  damaris_search_path(damaris_plugin_${name} "$ORIGIN/../..")
  install(TARGETS damaris_plugin_${name} LIBRARY DESTINATION ${DAMARIS_INSTALL_PLUGINDIR})
  add_dependencies(installed damaris_plugin_${name})
endfunction()

# damaris_program(name SOURCES ... [LINK ...]): an installed program in bin.
function(damaris_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${name} PRIVATE ${arg_LINK} damaris_options)
  damaris_precompile(${name} program LINK fmt::fmt nlohmann_json::nlohmann_json
    HEADERS <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>)
  damaris_search_path(${name} "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  add_dependencies(installed ${name})
endfunction()
