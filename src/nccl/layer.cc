#include "nccl/layer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "nccl/board_in_id.h"
#include "nccl/inside.h"

namespace polypath::nccl {
namespace {

// Of several calls in one group NCCL makes few kernels, we make one each. Not measured: programs
// that put many small collectives into groups gain nothing by us.
constexpr Bytes kLeastInGroup = 4_MiB;

Result result_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::driver: return kUnhandledCudaError;
    case ErrorCode::out_of_memory: return kSystemError;
    case ErrorCode::invalid_argument: return kInvalidUsage;
    case ErrorCode::communicator: return kRemoteError;
    default: return kInternalError;
  }
}

// In a group other calls say nothing of such a message. Short ones are many.
std::optional<Fate> left_at_once(Member& member, const Call& call) {
  if (call.other == member.rank()) return std::nullopt;
  if (member.messages() == nullptr) return Fate::other_kind;
  return member.messages()->left(call, member.choices());
}

// All collectives of one communicator, in their order, ours or NCCL's.
bool are_ours(const Member& member, std::span<const Call> calls) {
  return member.serves_groups() && std::ranges::all_of(calls, [&](const Call& call) {
           const bool is_long = message_of(call, member.size()) >= kLeastInGroup;
           return !member.left(call) && (calls.size() == 1 || is_long);
         });
}

void end_after(Result error, Member& member) {
  if (error != kSuccess && error != kInProgress)
    member.end_at_all_ranks("NCCL reports an error of it");
}

// NCCL ends its kernels before memory of ours is given back: the driver may wait for them then, and
// they for other ranks. Another rank may be told of it before it makes the same call.
template <class RealCall>
Result end_before(const std::shared_ptr<Member>& member, const char* why, RealCall real) {
  if (member) member->end_at_all_ranks(why);
  const Result result = real();
  if (member) member->leave();
  return result;
}

}  // namespace

const char* Layer::last_error(Comm comm) const {
  if (const std::string& text = last_error_.text(); !text.empty()) return text.c_str();
  return real_.GetLastError == nullptr ? "" : real_.GetLastError(comm);
}

Result Layer::init(Comm* comm, int size, const std::string& id, int rank, bool waits,
                   const std::function<Result()>& make) {
  const auto make_inside = [&] {
    const Inside inside;
    return make();
  };
  if (size < 2) return make_inside();
  const KnownCommunicator known{.key = communicator_key(id), .waits = waits, .board = board_in(id)};
  const Announcement announced(known.key, rank, waits, known.board);
  const Result result = make_inside();
  if (result == kSuccess) note_made({{comm, known, announced}});
  return result;
}

Result Layer::init_all(Comm* comms, int count, const int* devices) {
  static std::atomic<int> last = 0;
  const std::string key = communicator_key(fmt::format("{} {}", getpid(), ++last));
  std::vector<MadeCommunicator> made;
  for (int rank = 0; rank < count && count > 1; ++rank)
    made.push_back({comms + rank, {.key = key}, Announcement(key, rank, true, {})});
  const Result result = call_real(real_.CommInitAll, comms, count, devices);
  if (result == kSuccess && !made.empty()) note_made(std::move(made));
  return result;
}

Result Layer::split(Comm comm, int color, int key, Comm* made, std::optional<bool> waits,
                    void* config) {
  const KnownCommunicator child = communicators_.child_of(comm, color, waits);
  std::optional<Announcement> announced;
  int rank = 0;
  if (!child.key.empty() && color >= 0 && call_real(real_.CommUserRank, comm, &rank) == kSuccess)
    announced.emplace(child.key, rank, child.waits, child.board);
  const Result result = call_real(real_.CommSplit, comm, color, key, made, config);
  if (result == kSuccess && announced) note_made({{made, child, *announced}});
  return result;
}

// Communicators that a group makes are there at its end.
void Layer::note_made(std::vector<MadeCommunicator> made) {
  CallGroup& group = CallGroup::of_thread();
  if (group.depth == 0) return communicators_.serve(std::move(made));
  std::move(made.begin(), made.end(), std::back_inserter(group.made));
}

Result Layer::destroy(Comm comm) {
  if (const auto member = communicators_.forget(comm)) member->leave();
  return call_real(real_.CommDestroy, comm);
}

Result Layer::unique_id(UniqueId* id) const {
  const Result result = call_real(real_.GetUniqueId, id);
  if (has_board_ && result == kSuccess && id != nullptr) put_board(*id);
  return result;
}

Result Layer::revoke(Comm comm, int flags) {
  return end_before(communicators_.take_member(comm), "its program called ncclCommRevoke",
                    [&] { return call_real(real_.CommRevoke, comm, flags); });
}

Result Layer::abort(Comm comm) {
  return end_before(communicators_.forget(comm), "its program called ncclCommAbort",
                    [&] { return call_real(real_.CommAbort, comm); });
}

// An error of either ends what waits on the GPU: programs ask once, and then wait for their
// streams.
Result Layer::async_error(Comm comm, Result* error) {
  const auto entry = communicators_.find(comm);
  Member* const member = entry ? entry->member.get() : nullptr;
  const auto problem = member != nullptr ? member->problem() : std::nullopt;
  if (problem && member->is_to_be_told()) log(LogLevel::error, *problem);
  const Result result = call_real(real_.CommGetAsyncError, comm, error);
  if (member == nullptr || result != kSuccess || error == nullptr) return result;
  if (!problem) end_after(*error, *member);
  else if (*error == kSuccess) last_error_.note(*problem), *error = kRemoteError;
  return result;
}

template <class Action>
Result Layer::attempt(Action action) {
  try {
    action();
    return kSuccess;
  } catch (const RefusedByAll&) {
    throw;
  } catch (const Error& error) {
    log(LogLevel::error, error.what());
    last_error_.note(error.what());
    return result_of(error);
  }
}

Result Layer::collective(const Call& call) {
  const auto entry = communicators_.find(call.comm);
  if (!entry || !entry->member) return leave_to_nccl(call, entry ? *entry : KnownCommunicator{});
  if (CallGroup& group = CallGroup::of_thread(); group.depth > 0) {
    const auto fate = is_message(call) ? left_at_once(*entry->member, call)
                                       : group.left_at_once(*entry->member, call);
    if (fate) return leave_to_nccl(call, *fate, entry->size);
    group.calls.push_back({call, entry->member});
    return kSuccess;
  }
  if (is_message(call)) {
    GroupMessages single(*entry->member, {call});
    const Result decided = decide(single, entry->size);
    return decided == kSuccess ? attempt([&] { single.run(false, counts_); }) : decided;
  }
  if (const auto fate = entry->member->left(call)) return leave_to_nccl(call, *fate, entry->size);
  return run_ours(*entry->member, {&call, 1});
}

Result Layer::leave_to_nccl(const Call& call, const KnownCommunicator& known) {
  return leave_to_nccl(call, known.fate, std::max(known.size, 1));
}

Result Layer::leave_to_nccl(const Call& call, Fate fate, int size) {
  counts_.count(call.operation, message_of(call, size), fate);
  CallGroup::of_thread().has_left = true;
  const Inside inside;
  const Result result = make(real_, call);
  if (result != kSuccess) last_error_.forget();
  return result;
}

Result Layer::run_ours(Member& member, std::span<const Call> calls) {
  try {
    const Result result = attempt([&] { member.run(calls); });
    if (result != kSuccess) return result;
  } catch (const RefusedByAll& error) {
    communicators_.complain(error.what());
    Result result = kSuccess;
    for (const Call& call : calls)
      if (result == kSuccess) result = leave_to_nccl(call, Fate::failed, member.size());
    return result;
  }
  for (const Call& call : calls)
    counts_.count(call.operation, message_of(call, member.size()), Fate::ours);
  return kSuccess;
}

Result Layer::group_start() const {
  const Result result = call_real(real_.GroupStart);
  if (result != kSuccess) return result;
  CallGroup::of_thread().begin();
  return result;
}

Result Layer::group_end() {
  CallGroup& group = CallGroup::of_thread();
  if (group.depth == 1) return end_outermost(group);
  if (group.depth > 1) --group.depth;
  return call_real(real_.GroupEnd);
}

// As NCCL has it, collectives come first. Messages are enqueued before NCCL's group ends: that may
// wait for other ranks, which may wait for these.
Result Layer::end_outermost(CallGroup& group) {
  group.depth = 0;
  if (group.calls.empty() && group.made.empty()) return call_real(real_.GroupEnd);
  const std::vector<CallsOfMember> all = group.take_calls();
  std::vector<MadeCommunicator> made = std::exchange(group.made, {});
  Result result = kSuccess;
  const auto note = [&](Result of) { result = result == kSuccess ? of : result; };
  for (const CallsOfMember& each : all)
    if (!each.collectives.empty())
      note(are_ours(*each.member, each.collectives) ? run_ours(*each.member, each.collectives)
                                                    : leave_in_group(each));
  std::vector<GroupMessages> messages;
  for (const CallsOfMember& each : all)
    if (!each.messages.empty()) {
      messages.emplace_back(*each.member, each.messages);
      note(decide(messages.back(), each.member->size()));
    }
  const bool apart = group.has_left;
  for (GroupMessages& each : messages) note(attempt([&] { each.run(apart, counts_); }));
  note(call_real(real_.GroupEnd));
  for (GroupMessages& each : messages)
    if (apart) note(attempt([&] { each.join(); }));
  if (!made.empty() && result == kSuccess) communicators_.serve(std::move(made));
  return result;
}

Result Layer::decide(GroupMessages& messages, int size) {
  Result left = kSuccess;
  const Result decided = attempt([&] {
    messages.decide([&](const Call& call, Fate fate) {
      const Result result = leave_to_nccl(call, fate, size);
      left = left == kSuccess ? result : left;
    });
  });
  return decided == kSuccess ? left : decided;
}

Result Layer::simulate_end(void* info) {
  CallGroup& group = CallGroup::of_thread();
  for (const CallGroup::Kept& kept : std::exchange(group.calls, {})) {
    const Inside inside;
    if (const Result result = make(real_, kept.call); result != kSuccess) return result;
  }
  if (group.depth > 0) --group.depth;
  return call_real(real_.GroupSimulateEnd, info);
}

// The group of the real library is still open.
Result Layer::leave_in_group(const CallsOfMember& of) {
  Result result = kSuccess;
  for (const Call& call : of.collectives) {
    const Fate fate = of.member->left(call).value_or(Fate::in_group);
    const Result left = leave_to_nccl(call, fate, of.member->size());
    if (result == kSuccess) result = left;
  }
  return result;
}

}  // namespace polypath::nccl
