#include "nccl/messages.h"

namespace polypath::nccl {

void Messages::decide(const Leave& leave) {
  for (const Call& call : calls_) {
    if (call.other == member_.rank()) continue;
    const Fate fate = member_.decide(call, tasks_);
    if (fate == Fate::ours) ours_.push_back(call);
    else leave(call, fate);
  }
  decide_copies(leave);
}

// What a rank sends to itself concerns no other rank. It goes along with other messages of ours:
// alone it is NCCL's.
void Messages::decide_copies(const Leave& leave) {
  std::vector<Call> sends, receives;
  for (const Call& call : calls_)
    if (call.other == member_.rank())
      (call.operation == Operation::send ? sends : receives).push_back(call);
  const bool are_ours = !tasks_.empty() && member_.begin_copies(sends, receives, tasks_);
  for (const std::vector<Call>& part : {sends, receives})
    for (const Call& call : part)
      if (are_ours) ours_.push_back(call);
      else leave(call, Fate::other_kind);
}

void Messages::run(bool apart) {
  if (!tasks_.empty()) member_.run_messages(tasks_, calls_, apart);
}

void Messages::join() {
  if (!tasks_.empty()) member_.join_messages(calls_);
}

}  // namespace polypath::nccl
