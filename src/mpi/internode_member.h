#pragma once
// What a member has besides if its communicator has ranks on several nodes: the ranks agree on
// calls by a ballot, and have messages of MPI's between the nodes.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collective/rank/collectives.h"
#include "collective/rank/seen_gpus.h"
#include "communicator/bootstrap/nodes.h"
#include "mpi/ballot.h"
#include "mpi/call.h"
#include "mpi/call_numbers.h"
#include "mpi/mpi_transport.h"

namespace polypath::mpi {

class Aside;

/// How the calls of a communicator of several nodes are made.
struct InternodeTerms {
  Ballot::Polls polls = Ballot::Polls::at_once;
  /// Threads of its processes, at all ranks, may make calls of several communicators at a time.
  bool has_threads = false;
};

/// Functions that call MPI are for threads that are in a call of the program's.
class InternodeMember {
 public:
  /// `nodes[r]` is the node of rank r, in a text that other nodes do not have.
  InternodeMember(const Library& library, Handle comm, int rank,
                  const std::vector<std::string>& nodes, InternodeTerms terms);
  InternodeMember(const InternodeMember&) = delete;
  InternodeMember& operator=(const InternodeMember&) = delete;
  ~InternodeMember();

  [[nodiscard]] Ballot& ballot() { return ballot_; }
  [[nodiscard]] const Nodes& nodes() const { return nodes_; }
  /// Whether we have such a call among these nodes, which all ranks find alike.
  [[nodiscard]] bool has(Operation operation) const;

  /// The ranks meet; all at the same time. Calls MPI. Errors: those of Communicator.
  [[nodiscard]] std::unique_ptr<Communicator> meet(Seconds timeout);
  /// After meet(). Errors: those of InternodeCollectives.
  [[nodiscard]] std::unique_ptr<Collectives> collectives(
      const RanksMachine& around, const Settings& settings, PlaceId gpu,
      std::unique_ptr<Communicator> communicator);
  [[nodiscard]] CallNumbers& numbers() { return numbers_; }
  /// Messages go on. Calls MPI.
  void progress();
  /// Why there are no calls of ours any more: this rank's own error, or that of a rank of another
  /// node, as far as it has told this one.
  [[nodiscard]] std::optional<Error> failure() {
    return failed_ || messages_ == nullptr ? failed_ : messages_->failure();
  }
  /// This rank has an error: the others are told, for a second at most. Calls MPI.
  void note_failure(const Error& problem);
  /// Waits until votes of this rank's are over, or another rank has failed, which may never vote.
  /// Calls MPI.
  void await_votes();
  /// True while MPI has memory of messages.
  [[nodiscard]] bool is_busy() const { return messages_ != nullptr && messages_->is_busy(); }
  /// There are no collectives: the ranks could not all make theirs.
  void give_up() noexcept { messages_ = nullptr, made_.reset(); }
  /// Where calls that do not block are made; null: MPI makes them.
  [[nodiscard]] Aside* aside() const { return aside_.get(); }
  void use(std::unique_ptr<Aside> aside);
  /// The program frees its communicator, at all ranks. Calls MPI.
  void free_communicators() noexcept;

 private:
  void tell_others();
  /// All nodes have equally many.
  [[nodiscard]] int size() const {
    return nodes_.count() * static_cast<int>(nodes_.ranks_on(0).size());
  }

  const Library& library_;
  Handle comm_;
  int rank_;
  std::string node_;
  Nodes nodes_;
  Ballot ballot_;
  CallNumbers numbers_;
  Handle between_ = 0;  ///< the messages' communicator
  std::unique_ptr<MpiTransport> made_;
  MpiTransport* messages_ = nullptr;  ///< handed on to the collectives
  std::optional<Error> failed_;
  std::unique_ptr<Aside> aside_;
};

}  // namespace polypath::mpi
