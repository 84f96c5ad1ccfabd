# What test_preload needs besides its own sources: the libraries it is about, programs to run under
# them, and a driver for those programs.
add_subdirectory(preload/programs)
add_subdirectory(preload/fake_driver)
target_sources(test_preload PRIVATE preload/program_run.cc)
target_link_libraries(test_preload PRIVATE polypath_preload_code)
target_compile_definitions(test_preload PRIVATE
                           POLYPATH_PRELOAD="$<TARGET_FILE:polypath_preload>"
                           POLYPATH_PROGRAMS="$<TARGET_FILE_DIR:preload_copies>"
                           POLYPATH_STANDIN="${PROJECT_BINARY_DIR}/standin")
add_dependencies(test_preload polypath_preload polypath_ucx_module preload_copies preload_ipc)
if(TARGET standin_cuda)
  add_dependencies(test_preload standin_cuda standin_nvml)
endif()
