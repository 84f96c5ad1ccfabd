#pragma once

#include <string>

#include "communicator/bootstrap/bootstrap.h"
#include "communicator/bootstrap/nodes.h"
#include "communicator/node/control_block.h"

namespace polypath::communicator {

/// The terms that ranks agree on before anything else.
struct Agreement {
  std::string id;  ///< random, of this communicator
  Nodes nodes;
};

/// One round. Error (communicator) if a rank has another version of Polypath.
Agreement agree(Bootstrap& bootstrap, const std::string& node, Seconds timeout);

/// The block of this rank's node; two rounds. Error (communicator) at all ranks if one cannot have
/// it.
ControlBlock share_control_block(Bootstrap& bootstrap, const Nodes& nodes, Seconds timeout);

}  // namespace polypath::communicator
