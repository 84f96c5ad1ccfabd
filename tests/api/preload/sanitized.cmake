# What of test_preload runs in the sanitizer presets: everything that needs no programs, and of the
# programs, which take several times as long there as elsewhere, those that differ most in what they
# make Polypath do. The default preset runs all.
set(preload_filter
    # In the test's own process.
    ExportedSymbols.* Held.* LatelyNative.* Libraries/Redirected.* ProgramStream.* Redirecting.*
    Registry.* RegistryFaults.* RequestedFunctions.* Tally.* Watched.*
    # UCX's module.
    OverTheStandIn/Module.IsRightAndUsesNothingThatHasEnded/own_contexts
    OverTheStandIn/Module.IsRightAndUsesNothingThatHasEnded/re*
    OverTheStandIn/Module.IsRightAndUsesNothingThatHasEnded/unmapping_after_a_reset
    # The end of a process, and how a program finds the driver's functions.
    OverTheStandIn/Copies.*/copying_at_exit
    OverTheStandIn/Copies.*/copying_in_destructors
    OverTheStandIn/Copies.*/other_lookups
    OverTheStandIn/Harm.IsNotDone/lifetime_become_another
    # Memory with access of its own: unmapped and made again, and of pools.
    OverTheStandIn/MemoryThatIsNotOpenToAll.*/pool_in_a_stream
    OverTheStandIn/MemoryThatIsNotOpenToAll.*/read_only
    OverTheStandIn/MemoryThatIsNotOpenToAll.*/several_mappings
    OverTheStandIn/Harm.IsNotDone/opened_sleep_in_pinned_memory_in_chaos
    # Imports, peer access, threads, held streams.
    OverTheStandIn/Mappings.*/in_two_contextsByAGraph
    OverTheStandIn/Harm.IsNotDone/peer_copy_then_enable
    OverTheStandIn/Harm.IsNotDone/peer_while_others_copy
    OverTheStandIn/Harm.IsNotDone/hold_first_copies_in_chaos
    OverTheStandIn/Harm.IsNotDone/hold_calls_elsewhere_out_in_chaos
    # Handlers of the program beside those of the sanitizer.
    OverTheStandIn/Harm.IsNotDone/signals_bus_destination
    # Seeds of the random programs.
    OverTheStandIn/RandomPrograms.AreTheSameInVirtualTime/0
    OverTheStandIn/RandomPrograms.AreTheSameInChaos/0)

# The thread sanitizer takes three times as long.
if(NOT POLYPATH_SANITIZE STREQUAL "thread")
  list(APPEND preload_filter
       Programs.SeveralThreadsCopyAtOnce
       OverTheStandIn/MemoryThatIsNotOpenToAll.*/sleep_in_pageable_memory
       OverTheStandIn/Harm.IsNotDone/opened_at_the_same_addresses_in_chaos
       OverTheStandIn/Harm.IsNotDone/opened_pool_of_two_streams_in_chaos
       OverTheStandIn/Module.IsRightAndUsesNothingThatHasEnded/streams
       OverTheStandIn/Copies.*/by_dlsym
       OverTheStandIn/Copies.*/by_request
       OverTheStandIn/Copies.*/forking
       OverTheStandIn/Harm.IsNotDone/imports_own_context
       OverTheStandIn/Harm.IsNotDone/peer_reset
       OverTheStandIn/Harm.IsNotDone/memory_many_things
       OverTheStandIn/Harm.IsNotDone/files_closed_descriptors
       OverTheStandIn/Harm.IsNotDone/depth_many_small_in_in_chaos
       OverTheStandIn/Harm.IsNotDone/order_fills_then_pageable_out_in_chaos
       OverTheStandIn/Harm.IsNotDone/signals_segv_source
       OverTheStandIn/RandomPrograms.AreTheSameInVirtualTime/1
       OverTheStandIn/RandomPrograms.AreTheSameInChaos/2)
endif()
list(JOIN preload_filter ":" preload_filter)
