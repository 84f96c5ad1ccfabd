#pragma once
// Makes one rank's end of collectives: of one node or of several, as the communicator's nodes say.

#include <functional>
#include <memory>
#include <string>

#include "collective/rank/collectives.h"
#include "collective/rank/seen_gpus.h"
#include "communicator/transport/transport.h"

namespace polypath::collective {

/// A rank's GPU, on its node's machine: the named one, else the one of its number among the ranks
/// of its node.
std::string gpu_of(const Communicator& communicator, const std::string& named);

/// The largest of the ranks' piece_between_nodes(). All ranks of the communicator call it.
Bytes agreed_piece(Communicator& communicator, const Machine& machine);

/// Makes what carries messages among ranks of several nodes. All ranks call it at the same time.
using Connect = std::function<std::unique_ptr<Transport>(Communicator&)>;

/// By transport_by_tcp. `host` is the name or address by which other nodes reach this rank's;
/// empty: found (transport.h).
Connect over_tcp(const std::string& host = {});

/// All ranks make theirs at the same time. `gpu` is this rank's, as of gpu_of(). Errors: those of
/// NodeCollectives or InternodeCollectives, of the communicator and of `connect`.
std::unique_ptr<Collectives> make_collectives(Driver& driver, const Machine& machine,
                                              const Settings& settings, const std::string& gpu,
                                              std::unique_ptr<Communicator> communicator,
                                              const Connect& connect = over_tcp());

/// The same where the ranks of a node may see different GPUs: then they are ranks on the computer's
/// machine. `gpu` is named on the process's own one, or becomes the name of the GPU there. Errors
/// also: invalid_argument for a place that is none of the GPUs that the process sees.
std::unique_ptr<Collectives> make_collectives(const RanksMachine& own,
                                              const std::function<RanksMachine()>& computer,
                                              std::string& gpu,
                                              std::unique_ptr<Communicator> communicator,
                                              const Connect& connect = over_tcp());

}  // namespace polypath::collective
