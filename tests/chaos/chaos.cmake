# The stand-in driver in its chaotic mode: each of its rules, and the programs of the preload tests
# over it, with and without the preload library where that is built. Its peer is that of the layer
# "standin", which must be built as well.
target_sources(test_chaos PRIVATE
  standin/driver_api.cc standin/peer.cc chaos/chaotic_program.cc ways/preload/program_run.cc
  ways/preload/program_difference.cc)
target_link_libraries(test_chaos PRIVATE polypath_standin_facts ${CMAKE_DL_LIBS})
set(chaos_preload "")
if(TARGET polypath_preload)
  set(chaos_preload "$<TARGET_FILE:polypath_preload>")
  add_dependencies(test_chaos polypath_preload)
endif()
target_compile_definitions(test_chaos PRIVATE
                           STANDIN_FOLDER="${PROJECT_BINARY_DIR}/standin"
                           STANDIN_PEER="${CMAKE_CURRENT_BINARY_DIR}/standin_peer"
                           POLYPATH_PRELOAD="${chaos_preload}"
                           POLYPATH_PROGRAMS="$<TARGET_FILE_DIR:preload_copies>"
                           POLYPATH_STANDIN="${PROJECT_BINARY_DIR}/standin")
add_dependencies(test_chaos standin_cuda standin_nvml standin_peer preload_copies preload_ipc)
