#include "nccl/call_group.h"

#include <algorithm>
#include <utility>

#include "nccl/member_messages.h"

namespace polypath::nccl {

CallGroup& CallGroup::of_thread() {
  thread_local CallGroup group;
  return group;
}

void CallGroup::begin() {
  if (depth++ > 0) return;
  has_left = false;
  left.clear();
}

// A communicator's collectives in a group are NCCL's as a whole. If the first one is, none waits
// for the end of the group.
std::optional<Fate> CallGroup::left_at_once(Member& member, const Call& call) {
  if (std::ranges::find(left, &member) != left.end())
    return member.left(call).value_or(Fate::in_group);
  const bool is_first = std::ranges::none_of(calls, [&](const Kept& kept) {
    return kept.member.get() == &member && !is_message(kept.call);
  });
  if (!is_first) return std::nullopt;
  auto fate = member.left(call);
  if (!fate && !member.serves_groups()) fate = Fate::in_group;
  if (fate) left.push_back(&member);
  return fate;
}

std::vector<CallsOfMember> CallGroup::take_calls() {
  std::vector<CallsOfMember> all;
  for (const Kept& each : std::exchange(calls, {})) {
    auto found = std::ranges::find(all, each.member, &CallsOfMember::member);
    if (found == all.end()) found = all.insert(found, {each.member, {}, {}});
    (is_message(each.call) ? found->messages : found->collectives).push_back(each.call);
  }
  return all;
}

}  // namespace polypath::nccl
