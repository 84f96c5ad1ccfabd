# What runs on the stand-in driver: its own tests, and the programs for real GPUs.
add_executable(standin_peer
  ${CMAKE_CURRENT_LIST_DIR}/peer_main.cc ${CMAKE_CURRENT_LIST_DIR}/peer_memory.cc
  ${CMAKE_CURRENT_LIST_DIR}/peer_mappings.cc ${CMAKE_CURRENT_LIST_DIR}/peer_process.cc
  ${CMAKE_CURRENT_LIST_DIR}/driver_api.cc)
target_include_directories(standin_peer PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
target_link_libraries(standin_peer PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
target_sources(test_standin PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/driver_api.cc ${CMAKE_CURRENT_LIST_DIR}/peer.cc)
target_link_libraries(test_standin PRIVATE polypath_standin_facts ${CMAKE_DL_LIBS})
add_dependencies(test_standin standin_peer)
foreach(program IN ITEMS test_standin standin_peer test_gpu polypath_report polypath_ranks
        polypath_mappings polypath_nodes)
  if(TARGET ${program})
    add_dependencies(${program} standin_cuda standin_nvml)
  endif()
endforeach()

# A C program that uses CUDA and Polypath, as a user would write it.
if(POLYPATH_WITH_CUDA AND TARGET preload_driver_link AND NOT POLYPATH_SANITIZE)
  add_executable(example_own_stream ${PROJECT_SOURCE_DIR}/examples/own_stream.c)
  target_compile_options(example_own_stream PRIVATE -Wall -Wextra -Wpedantic)
  target_include_directories(example_own_stream PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/api/c/no_cuda)
  target_link_libraries(example_own_stream PRIVATE polypath preload_driver_link)
  set_target_properties(example_own_stream PROPERTIES SKIP_BUILD_RPATH ON)
  add_dependencies(example_own_stream standin_cuda standin_nvml)
  add_test(NAME Example.OwnStream
           COMMAND ${CMAKE_COMMAND} -E env STANDIN_STRICT=1 STANDIN_MACHINE=beluga POLYPATH_STATS=1
                   LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/standin:$<TARGET_FILE_DIR:polypath>
                   sh -c "$<TARGET_FILE:example_own_stream> && echo and ended well")
  set_tests_properties(Example.OwnStream PROPERTIES LABELS c
                       PASS_REGULAR_EXPRESSION "0 native, 1 by streams.*bytes are right.*and ended well")
endif()

if(NOT POLYPATH_WITH_CUDA OR NOT TARGET test_gpu)  # without CUDA they find no GPU, whatever they run on
  return()
endif()
set(standin_environment "LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/standin" STANDIN_STRICT=1)
string(REPLACE ";" "\\;" escaped_environment "${standin_environment}")
gtest_discover_tests(test_gpu TEST_PREFIX StandIn. DISCOVERY_TIMEOUT 60
                     PROPERTIES LABELS standin ENVIRONMENT "${escaped_environment}")
add_test(NAME StandIn.Bench COMMAND ${CMAKE_COMMAND} -E env ${standin_environment}
         sh ${CMAKE_CURRENT_LIST_DIR}/bench.sh $<TARGET_FILE:polypath_report>)
set_tests_properties(StandIn.Bench PROPERTIES LABELS standin)
foreach(seed IN ITEMS 1 2)
  add_test(NAME StandIn.ConformanceInChaos${seed}
           COMMAND ${CMAKE_COMMAND} -E env ${standin_environment} STANDIN_CHAOS=${seed}
                   $<TARGET_FILE:test_gpu> --gtest_filter=*DriverConformance*:*DriverFlags*)
  set_tests_properties(StandIn.ConformanceInChaos${seed} PROPERTIES LABELS standin)
endforeach()
# Without peer access flags are in the host's memory, and so is what messages go through.
foreach(machine IN ITEMS nop2p4 pcie4)
  add_test(NAME StandIn.RanksAreProcessesOn_${machine}
           COMMAND ${CMAKE_COMMAND} -E env ${standin_environment} STANDIN_CHAOS=4
                   STANDIN_MACHINE=${machine} $<TARGET_FILE:polypath_ranks> 4 4)
  set_tests_properties(StandIn.RanksAreProcessesOn_${machine} PROPERTIES LABELS standin
                       PASS_REGULAR_EXPRESSION "right")
endforeach()
foreach(ranks IN ITEMS 2 3 5 8)
  add_test(NAME StandIn.RanksAreProcesses${ranks}
           COMMAND ${CMAKE_COMMAND} -E env ${standin_environment} STANDIN_CHAOS=${ranks}
                   STANDIN_MACHINE=h200x8 $<TARGET_FILE:polypath_ranks> ${ranks} ${ranks})
  set_tests_properties(StandIn.RanksAreProcesses${ranks} PROPERTIES LABELS standin
                       PASS_REGULAR_EXPRESSION "right")
endforeach()
foreach(machine IN ITEMS h200x4 beluga)
  add_test(NAME StandIn.MappingsAreHandedOver_${machine}
           COMMAND ${CMAKE_COMMAND} -E env ${standin_environment} STANDIN_CHAOS=3
                   STANDIN_MACHINE=${machine} $<TARGET_FILE:polypath_mappings>)
  set_tests_properties(StandIn.MappingsAreHandedOver_${machine} PROPERTIES LABELS standin
                       PASS_REGULAR_EXPRESSION "right")
endforeach()
# GPUs of one machine that are told to be on several nodes: nodes and ranks of each.
foreach(layout IN ITEMS 2-2 3-1 2-3)
  string(REPLACE "-" ";" numbers ${layout})
  add_test(NAME StandIn.RanksOfNodes${layout}
           COMMAND ${CMAKE_COMMAND} -E env ${standin_environment} STANDIN_CHAOS=5
                   STANDIN_MACHINE=h200x8 $<TARGET_FILE:polypath_nodes> ${numbers})
  set_tests_properties(StandIn.RanksOfNodes${layout} PROPERTIES LABELS standin
                       PASS_REGULAR_EXPRESSION "right")
endforeach()
