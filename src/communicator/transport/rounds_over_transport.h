#pragma once
// Rounds of a bootstrap as messages of a transport: ranks that have one need no other way to meet.

#include "communicator/bootstrap/bootstrap.h"
#include "communicator/transport/transport.h"

namespace polypath::communicator {

/// Among all ranks of the transport, which must outlive them; it may carry other messages before
/// and after a round. Errors of a round: those of Transport::wait(), which name the rank.
BootstrapFunctions rounds_over(Transport& transport);

}  // namespace polypath::communicator
