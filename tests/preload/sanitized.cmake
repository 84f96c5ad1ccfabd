# What of test_preload runs in the sanitizer presets: everything that needs no programs, and of the
# programs, which take five times as long there as elsewhere, those that differ most in what they
# make Polypath do. The default preset runs all.
set(preload_filter
    # In the test's own process.
    ExportedSymbols.* Held.* LatelyNative.* Libraries/Redirected.* ProgramStream.* Redirecting.*
    Registry.* RegistryFaults.* RequestedFunctions.* Tally.* Watched.*
    # UCX's module.
    OverTheStandIn/Module.IsRightAndUsesNothingThatHasEnded/*
    # The beginning, the end and the children of a process.
    Programs.SeveralThreadsCopyAtOnce
    OverTheStandIn/Copies.*/forking
    OverTheStandIn/Copies.*/copying_at_exit
    OverTheStandIn/Copies.*/copying_in_destructors
    OverTheStandIn/Harm.IsNotDone/lifetime_become_another
    # How a program finds the driver's functions.
    OverTheStandIn/Copies.*/by_dlsym
    OverTheStandIn/Copies.*/by_request
    OverTheStandIn/Copies.*/other_lookups
    # Imports, peer access, kinds of memory, order, held and full streams.
    OverTheStandIn/Mappings.*/in_two_contextsByAGraph
    OverTheStandIn/Harm.IsNotDone/imports_own_context
    OverTheStandIn/Harm.IsNotDone/peer_copy_then_enable
    OverTheStandIn/Harm.IsNotDone/peer_reset
    OverTheStandIn/Harm.IsNotDone/peer_while_others_copy
    OverTheStandIn/Harm.IsNotDone/memory_many_things
    OverTheStandIn/Harm.IsNotDone/files_closed_descriptors
    OverTheStandIn/Harm.IsNotDone/hold_first_copies_in_chaos
    OverTheStandIn/Harm.IsNotDone/hold_calls_elsewhere_out_in_chaos
    OverTheStandIn/Harm.IsNotDone/depth_many_small_in_in_chaos
    OverTheStandIn/Harm.IsNotDone/order_fills_then_pageable_out_in_chaos
    # Handlers of the program beside those of the sanitizer.
    OverTheStandIn/Harm.IsNotDone/signals_segv_source
    OverTheStandIn/Harm.IsNotDone/signals_bus_destination
    # Seeds of the random programs.
    OverTheStandIn/RandomPrograms.AreTheSameInVirtualTime/0
    OverTheStandIn/RandomPrograms.AreTheSameInChaos/0
    OverTheStandIn/RandomPrograms.AreTheSameInChaos/1)
list(JOIN preload_filter ":" preload_filter)
