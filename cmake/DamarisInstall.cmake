# What is installed besides the targets: headers, schema, CMake package, pkg-config files, man pages. The tree can be moved.

include(CMakePackageConfigHelpers)
set(templates "${PROJECT_SOURCE_DIR}/cmake/install")
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/damaris")
set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

install(TARGETS damaris_headers EXPORT damaris)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/damaris" "${PROJECT_BINARY_DIR}/include/damaris"
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "damaris_mpi.h*" EXCLUDE
  PATTERN "mpi_flavour.h" EXCLUDE)
if(TARGET damaris_mpi)
  install(FILES "${PROJECT_SOURCE_DIR}/include/damaris/damaris_mpi.h" "${PROJECT_SOURCE_DIR}/include/damaris/damaris_mpi.hpp"
    "${PROJECT_BINARY_DIR}/include/damaris/mpi_flavour.h"
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/damaris)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/config-schemas/" DESTINATION ${CMAKE_INSTALL_DATADIR}/damaris
  FILES_MATCHING PATTERN "*.xsd" PATTERN "invalid" EXCLUDE PATTERN "examples" EXCLUDE)
# Laid out as in the source tree, so that links between documents hold.
install(FILES LICENSE README.md CHANGELOG.md ARCHITECTURE.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN man EXCLUDE PATTERN CMakeLists.txt EXCLUDE)
foreach(plugin IN ITEMS null hdf5)
  install(DIRECTORY src/plugins/${plugin} DESTINATION ${CMAKE_INSTALL_DOCDIR}/src/plugins FILES_MATCHING PATTERN README.md PATTERN null.c)
endforeach()
install(DIRECTORY config-schemas/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}/config-schemas)
install(DIRECTORY docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")

# find_package(damaris COMPONENTS c fortran mpi plugin)
install(EXPORT damaris NAMESPACE damaris:: FILE damaris-targets.cmake DESTINATION ${package_dir})
set(DAMARIS_INSTALL_SCHEMA "${CMAKE_INSTALL_DATADIR}/damaris/damaris.xsd")
configure_package_config_file("${templates}/damaris-config.cmake.in" "${PROJECT_BINARY_DIR}/install/damaris-config.cmake"
  INSTALL_DESTINATION ${package_dir} PATH_VARS DAMARIS_INSTALL_PLUGINDIR DAMARIS_INSTALL_SCHEMA)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/install/damaris-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/install/damaris-config.cmake" "${PROJECT_BINARY_DIR}/install/damaris-config-version.cmake"
  "${templates}/damaris-mpi-flavour.cmake"
  DESTINATION ${package_dir})

# pkg-config damaris, damaris-mpi, damaris-fortran, damaris-fortran-mpi
file(RELATIVE_PATH DAMARIS_PC_TO_PREFIX "/${pkgconfig_dir}" "/")
function(damaris_install_pc name)
  configure_file("${templates}/${name}.pc.in" "${PROJECT_BINARY_DIR}/install/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/install/${name}.pc" DESTINATION ${pkgconfig_dir})
endfunction()
damaris_install_pc(damaris)
if(TARGET damaris_fortran)
  damaris_install_pc(damaris-fortran)
endif()
if(TARGET damaris_mpi)
  damaris_install_pc(damaris-mpi)
  if(TARGET damaris_fortran_mpi)
    damaris_install_pc(damaris-fortran-mpi)
  endif()
endif()
