#pragma once
// A connection between each two ranks.

#include <string>
#include <vector>

#include "communicator/bootstrap/bootstrap.h"
#include "communicator/bootstrap/sockets.h"
#include "core/descriptor.h"

namespace polypath::communicator {

/// By rank, none at this one's. Each rank listens at `host`. Waits for all ranks. Errors as
/// transport_by_tcp.
std::vector<Descriptor> connect_ranks(Bootstrap& bootstrap, const std::string& host,
                                      Seconds timeout);

}  // namespace polypath::communicator
