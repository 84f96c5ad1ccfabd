# The stand-in driver in its chaotic mode: each of its rules, and the programs of the preload tests
# over it, with and without the preload library where that is built. Its peer is that of the layer
# "standin", which must be built as well.
target_sources(test_chaos PRIVATE
  standin/driver_api.cc standin/peer.cc chaos/chaotic_program.cc api/preload/program_run.cc
  api/preload/program_difference.cc)
target_link_libraries(test_chaos PRIVATE polypath_standin_facts ${CMAKE_DL_LIBS})
if(TARGET polypath_preload)
  add_dependencies(test_chaos polypath_preload)
endif()
add_dependencies(test_chaos standin_cuda standin_nvml standin_peer preload_copies preload_ipc)
