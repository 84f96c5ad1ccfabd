#pragma once
// The layer before a process's NCCL: it serves communicators, and decides about each call.
//
//   the program's call ─▶ in a group? kept until its end ─▶ is ours faster? ─▶ Member::run
//                                                       └▶ the real library's, as it was called
//
// The program keeps the real library's communicators. Beside each that is served stands a Member
// (communicators.h); whether a call is ours follows from the arguments that are the same at all
// ranks. The collectives of one communicator in a group are all ours, or all NCCL's; of its sends
// and receives each is for itself (group_messages.h), because other ranks have other ones.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nccl/call_group.h"
#include "nccl/communicators.h"
#include "nccl/counts.h"
#include "nccl/group_messages.h"
#include "nccl/last_error.h"
#include "nccl/member.h"
#include "nccl/member_messages.h"

namespace polypath::nccl {

/// Thread-safe; groups are those of the calling thread, as NCCL has them.
class Layer {
 public:
  struct Options {
    Bytes most_measured =
        1_GiB;               ///< the largest messages that are tried when a communicator is made
    bool has_board = false;  ///< for ranks of several nodes, in ids that this process makes
  };

  Layer(Functions real, Open open, Options options)
      : real_(real),
        communicators_(real_, std::move(open), options.most_measured),
        has_board_(options.has_board) {}
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  /// An id by which the ranks of a communicator find each other on any node.
  Result unique_id(UniqueId* id) const;
  /// A communicator is about to be made, whose ranks know it by `id`; `make` makes it. `waits`: the
  /// real library's calls return when they are done.
  Result init(Comm* comm, int size, const std::string& id, int rank, bool waits,
              const std::function<Result()>& make);
  /// Of several GPUs of this process.
  Result init_all(Comm* comms, int count, const int* devices);
  /// `waits`: as of init(); none: as its parent.
  Result split(Comm comm, int color, int key, Comm* made, std::optional<bool> waits, void* config);
  Result destroy(Comm comm);
  Result abort(Comm comm);
  /// Nothing of ours runs on it from here on, and the real library says what becomes of its calls.
  Result revoke(Comm comm, int flags);
  Result async_error(Comm comm, Result* error);
  /// What the last error was, ours or the real library's. Valid until this thread asks again.
  [[nodiscard]] const char* last_error(Comm comm) const;

  Result group_start() const;
  Result group_end();
  /// Ends a group of which nothing is done: the real library says what it would take.
  Result simulate_end(void* info);
  Result collective(const Call& call);

  [[nodiscard]] const Functions& real() const { return real_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }
  /// Why the latest communicator that is not served is not; empty if all are.
  [[nodiscard]] std::string why_not() const { return communicators_.why_not(); }

 private:
  Result end_outermost(CallGroup& group);
  Result leave_in_group(const CallsOfMember& of);
  Result decide(GroupMessages& messages, int size);
  template <class Action>
  Result attempt(Action action);
  void note_made(std::vector<MadeCommunicator> made);
  Result run_ours(Member& member, std::span<const Call> calls);
  Result leave_to_nccl(const Call& call, const KnownCommunicator& known);
  Result leave_to_nccl(const Call& call, Fate fate, int size);

  Functions real_;
  Communicators communicators_;
  bool has_board_;
  Counts counts_;
  LastError last_error_;
};

}  // namespace polypath::nccl
