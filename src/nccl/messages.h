#pragma once
// The sends and receives that one communicator has in a group, or a single one.
//
// Each is ours or NCCL's by itself, as its two ends find alike. Those of ours are one kernel, and
// NCCL's may run at the same time: what a program puts into a group waits for nothing else in it.

#include <functional>
#include <span>
#include <vector>

#include "nccl/member.h"

namespace polypath::nccl {

[[nodiscard]] inline bool is_message(const Call& call) {
  return call.operation == Operation::send || call.operation == Operation::receive;
}

class Messages {
 public:
  /// Makes a call NCCL's.
  using Leave = std::function<void(const Call& call, Fate fate)>;

  /// `member` outlives it.
  Messages(Member& member, std::vector<Call> calls) : member_(member), calls_(std::move(calls)) {}

  /// Decides whose each is. Errors: as Member::decide().
  void decide(const Leave& leave);
  /// Enqueues ours. `apart`: NCCL's calls may come before join(), and run at the same time.
  void run(bool apart);
  void join();
  /// Those that are ours.
  [[nodiscard]] std::span<const Call> ours() const { return ours_; }

 private:
  void decide_copies(const Leave& leave);

  Member& member_;
  std::vector<Call> calls_, ours_;
  std::vector<MessageTask> tasks_;
};

}  // namespace polypath::nccl
