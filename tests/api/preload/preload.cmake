# What test_preload needs besides its own sources: the libraries it is about, and a driver for the
# programs that it runs under them.
if(TARGET standin_cuda AND "standin" IN_LIST POLYPATH_TESTED_FOLDERS)  # whose peer they use
  add_subdirectory(api/preload/imports)
endif()
add_subdirectory(api/preload/called_library)
add_subdirectory(api/preload/module)
target_sources(test_preload PRIVATE api/preload/program_run.cc
                                    api/preload/program_difference.cc)
target_link_libraries(test_preload PRIVATE polypath_preload_code)
set_source_files_properties(api/preload/module.test.cc PROPERTIES COMPILE_DEFINITIONS
  "POLYPATH_UCX_MODULE=\"$<TARGET_FILE:polypath_ucx_module>\";POLYPATH_UCX_CUDA=\"$<TARGET_FILE:preload_uct_cuda>\";\
POLYPATH_UCX_FOLDER=\"$<TARGET_FILE_DIR:preload_uct_cuda>\"")
set_source_files_properties(api/preload/call_slots.test.cc PROPERTIES COMPILE_DEFINITIONS
  "POLYPATH_CALLED_LAZY=\"$<TARGET_FILE:preload_called_lazy>\";\
POLYPATH_CALLED_SEALED=\"$<TARGET_FILE:preload_called_sealed>\"")
# The libraries call back into the program.
set_target_properties(test_preload PROPERTIES ENABLE_EXPORTS ON)
add_dependencies(test_preload polypath_preload polypath_ucx_module preload_programs
                 preload_called_lazy preload_called_sealed preload_ucx preload_uct_cuda)
if(TARGET standin_cuda)
  add_dependencies(test_preload standin_cuda standin_nvml)
endif()
