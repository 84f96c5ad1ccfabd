#pragma once
// Makes one rank's end of collectives: of one node or of several, as the communicator's nodes say.

#include <memory>
#include <string>

#include "collective/rank/collectives.h"

namespace polypath {

/// A rank's GPU, on its node's machine: the named one, else the one of its number among the ranks
/// of its node.
std::string gpu_of(const Communicator& communicator, const std::string& named);

/// All ranks make theirs at the same time. `gpu` is this rank's, as of gpu_of(). `host` is the name
/// or address by which other nodes reach this one; empty: found (transport.h). Errors: those of
/// NodeCollectives or InternodeCollectives, of the communicator and of transport_by_tcp.
std::unique_ptr<Collectives> make_collectives(Driver& driver, const Machine& machine,
                                              const Settings& settings, const std::string& gpu,
                                              std::unique_ptr<Communicator> communicator,
                                              const std::string& host = {});

}  // namespace polypath
