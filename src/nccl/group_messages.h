#pragma once
// The sends and receives that one communicator has in a group, or a single one.
//
// Each is ours or NCCL's by itself, as its two ends find alike. Those of ours are one kernel, and
// NCCL's may run at the same time: what a program puts into a group waits for nothing else in it.

#include <functional>
#include <utility>
#include <vector>

#include "nccl/member.h"
#include "nccl/member_messages.h"

namespace polypath::nccl {

class GroupMessages {
 public:
  /// Makes a call NCCL's.
  using Leave = std::function<void(const Call& call, Fate fate)>;

  /// `member` outlives it.
  GroupMessages(Member& member, std::vector<Call> calls)
      : member_(member), calls_(std::move(calls)) {}

  /// Decides whose each is. Errors: as MemberMessages::decide().
  void decide(const Leave& leave);
  /// Enqueues ours, and counts them. `apart`: NCCL's calls may come before join(), and run at the
  /// same time.
  void run(bool apart, Counts& counts);
  void join();

 private:
  void decide_copies(const Leave& leave);

  Member& member_;
  std::vector<Call> calls_, ours_;
  std::vector<MessageTask> tasks_;
};

}  // namespace polypath::nccl
