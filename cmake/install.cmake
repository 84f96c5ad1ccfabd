# What `cmake --install` and the wheel put under the prefix: library, header, CMake package and
# pkg-config file. All of it finds itself by relative paths, so the prefix may be moved.
# In the wheel the prefix is the Python package's own folder.
include(CMakePackageConfigHelpers)

install(TARGETS polypath EXPORT polypathTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${PROJECT_SOURCE_DIR}/include/polypath.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/polypath)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/polypathConfig.cmake.in ${PROJECT_BINARY_DIR}/polypathConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/polypathConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(EXPORT polypathTargets NAMESPACE polypath:: DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/polypathConfig.cmake
              ${PROJECT_BINARY_DIR}/polypathConfigVersion.cmake
        DESTINATION ${package_folder})

set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH prefix_from_pkgconfig /prefix/${pkgconfig_folder} /prefix)
string(REGEX REPLACE "/$" "" prefix_from_pkgconfig "${prefix_from_pkgconfig}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/polypath.pc.in ${PROJECT_BINARY_DIR}/polypath.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/polypath.pc DESTINATION ${pkgconfig_folder})

# MPI libraries differ in their binary interface, so this program is compiled where it is used.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/programs/mpi_bench/
        DESTINATION ${CMAKE_INSTALL_DATADIR}/polypath/mpi_bench)
