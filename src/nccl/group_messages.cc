#include "nccl/group_messages.h"

#include "kernels/messages_layout.h"

namespace polypath::nccl {

void GroupMessages::decide(const Leave& leave) {
  MemberMessages* const messages = member_.messages();
  for (const Call& call : calls_) {
    if (call.other == member_.rank()) continue;
    const Fate fate =
        messages == nullptr ? Fate::other_kind : messages->decide(call, member_.choices(), tasks_);
    if (fate == Fate::ours) ours_.push_back(call);
    else leave(call, fate);
  }
  decide_copies(leave);
}

// What a rank sends to itself concerns no other rank. It goes along with other messages of ours:
// alone it is NCCL's.
void GroupMessages::decide_copies(const Leave& leave) {
  std::vector<Call> sends, receives;
  for (const Call& call : calls_)
    if (call.other == member_.rank())
      (call.operation == Operation::send ? sends : receives).push_back(call);
  const bool are_ours = !tasks_.empty() && sends.size() <= kMostMessages &&
                        member_.messages()->begin_copies(sends, receives, tasks_);
  for (const std::vector<Call>& part : {sends, receives})
    for (const Call& call : part)
      if (are_ours) ours_.push_back(call);
      else leave(call, Fate::other_kind);
}

void GroupMessages::run(bool apart, Counts& counts) {
  if (tasks_.empty()) return;
  member_.messages()->run(tasks_, calls_, apart);
  for (const Call& call : ours_)
    counts.count(call.operation, message_of(call, member_.size()), Fate::ours);
}

void GroupMessages::join() {
  if (!tasks_.empty()) member_.messages()->join(calls_);
}

}  // namespace polypath::nccl
