#pragma once
// A rank of a communicator that is about to be made says that it is under Polypath: on its node,
// and on the communicator's board.

#include <memory>
#include <optional>
#include <string>

#include "communicator/bootstrap/presence.h"
#include "communicator/bootstrap/presence_board.h"

namespace polypath::nccl {

/// What this node is called: as elsewhere, and with NCCL_HOSTID, by which NCCL is told that ranks
/// of one computer are on several.
std::string node_name();

class Announcement {
 public:
  /// `key` is the communicator's, `number` one that no other of its ranks has; `joins`: whether the
  /// rank can take part.
  Announcement(const std::string& key, int number, bool joins,
               const std::optional<BoardAddress>& board);

  [[nodiscard]] const RankPresence& on_node() const { return on_node_; }
  /// After the real library has returned: true if so many ranks have come on any node, of this
  /// version, and all take part. Asks once.
  [[nodiscard]] bool is_complete_on_nodes(int ranks) const;
  /// How these ranks exchange bytes.
  [[nodiscard]] std::unique_ptr<Bootstrap> bootstrap(int rank, int ranks) const {
    return bootstrap_by_board(on_board_, rank, ranks);
  }

 private:
  RankPresence on_node_;
  std::shared_ptr<BoardPresence> on_board_;  ///< null without a board
};

}  // namespace polypath::nccl
