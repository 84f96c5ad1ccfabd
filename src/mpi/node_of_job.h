#pragma once
// This process's node among the nodes of the job: which ranks of the job are on which, and the
// memory that the ranks of this one share.

#include <optional>
#include <string>
#include <vector>

#include "communicator/bootstrap/presence.h"
#include "mpi/arena.h"
#include "mpi/library.h"

namespace polypath::mpi {

class NodeOfJob {
 public:
  /// `name`: what this process's node is called; empty: found. `asks_others`: whether ranks of
  /// other computers are asked by messages. Only where all are known to be under Polypath: a
  /// program that is not might receive such a message for one of its own.
  NodeOfJob(std::string name, bool asks_others)
      : name_(std::move(name)), asks_others_(asks_others) {}

  /// MPI is about to be initialised; `joins`: this process has a driver of GPUs.
  void enter(bool joins);
  /// It is. True if all ranks of the job are under Polypath and have the memory of their nodes,
  /// which all find alike.
  [[nodiscard]] bool meet(const Library& library);
  /// MPI is about to end.
  void leave() noexcept;

  /// Null, unless all ranks have met.
  [[nodiscard]] Arena* arena() { return arena_ ? &*arena_ : nullptr; }
  /// The node of each rank of the job, in a text that other nodes do not have.
  [[nodiscard]] const std::vector<std::string>& nodes() const { return nodes_; }

 private:
  [[nodiscard]] bool are_all_under_polypath(const Library& library) const;
  void find_nodes(const Library& library);
  [[nodiscard]] int first_of_own(int rank) const;
  [[nodiscard]] bool share_arena(const Library& library, int rank);

  std::string name_;
  bool asks_others_;
  bool joins_ = false;
  std::optional<RankPresence> presence_;  ///< none: the process was started alone
  std::vector<std::string> nodes_;
  std::optional<Arena> arena_;
};

}  // namespace polypath::mpi
