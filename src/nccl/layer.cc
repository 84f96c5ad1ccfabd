#include "nccl/layer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/hash.h"
#include "core/log.h"
#include "machine/load_machine.h"
#include "nccl/choices_file.h"
#include "nccl/inside.h"

namespace polypath::nccl {
namespace {

// Until all ranks have met, and for each exchange of theirs.
constexpr Seconds kTimeout{30};
constexpr int kChoicesRevision = 2;  // one more with each change of what is measured

// Of several calls in one group NCCL makes few kernels, we make one each. Not measured: programs
// that put many small collectives into groups gain nothing by us.
constexpr Bytes kLeastInGroup = 4_MiB;

std::string hashed(std::string_view text) {
  return fmt::format("nccl-{:016x}{:016x}", Hash().add(text).value(),
                     Hash(~0ULL).add(text).value());
}

Result result_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::driver: return kUnhandledCudaError;
    case ErrorCode::out_of_memory: return kSystemError;
    case ErrorCode::invalid_argument: return kInvalidUsage;
    case ErrorCode::communicator: return kRemoteError;
    default: return kInternalError;
  }
}

// Variables that tell NCCL how to work.
std::vector<std::string> nccl_variables() {
  std::vector<std::string> found;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable(*each);
    if (variable.starts_with("NCCL_") && !variable.starts_with("NCCL_DEBUG"))
      found.emplace_back(variable);
  }
  std::ranges::sort(found);
  return found;
}

template <class Function, class... Arguments>
Result call_real(Function function, Arguments... arguments) {
  const Inside inside;
  return function == nullptr ? kMissing : function(arguments...);
}

template <class Action>
void note_problem(std::string& problem, Action action) noexcept {
  try {
    action();
  } catch (const std::exception& error) {
    problem = error.what();
  }
}

// All ranks learn of a problem of one of them before any of them relies on it.
void check_problems(Bootstrap& bootstrap, const std::string& problem) {
  for (const Blob& each : bootstrap.all_gather(problem, kTimeout))
    if (!each.empty()) throw Error(ErrorCode::unsupported, each);
}

// Of a call that stays NCCL's.
Fate fate_of(const Member& member, const Call& call) {
  return our_form(call, member.size()) ? Fate::faster : Fate::other_kind;
}

// In a group other calls say nothing of such a message. Short ones are many.
std::optional<Fate> left_at_once(Member& member, const Call& call) {
  if (!is_message(call) || call.other == member.rank()) return std::nullopt;
  if (member.messages() == nullptr) return Fate::other_kind;
  return member.messages()->left(call, member.choices());
}

// All collectives of one communicator, in their order, ours or NCCL's.
bool are_ours(const Member& member, std::span<const Call> calls) {
  return std::ranges::all_of(calls, [&](const Call& call) {
    const bool is_long = message_of(call, member.size()) >= kLeastInGroup;
    return member.is_ours(call) && (calls.size() == 1 || is_long);
  });
}

}  // namespace

Layer::Group& Layer::group() {
  thread_local Group group;
  return group;
}

std::string Layer::why_not() const {
  const std::shared_lock lock(mutex_);
  return why_not_;
}

void Layer::complain(const std::string& why) noexcept {
  log(LogLevel::info, "a communicator of NCCL is left to it: " + why);
  const std::unique_lock lock(mutex_);
  why_not_ = why;
}

const char* Layer::last_error(Comm comm) const {
  if (const std::string& text = last_error_.text(); !text.empty()) return text.c_str();
  return real_.GetLastError == nullptr ? "" : real_.GetLastError(comm);
}

std::shared_ptr<const Layer::Entry> Layer::entry_of(Comm comm) const {
  const std::shared_lock lock(mutex_);
  const auto found = entries_.find(comm);
  return found == entries_.end() ? nullptr : found->second;
}

void Layer::enter(Comm comm, Entry entry) {
  const std::unique_lock lock(mutex_);
  entries_[comm] = std::make_shared<Entry>(std::move(entry));
}

Result Layer::init(Comm* comm, int size, const std::string& id, int rank, bool waits,
                   const std::function<Result()>& make) {
  const auto make_inside = [&] {
    const Inside inside;
    return make();
  };
  if (size < 2) return make_inside();
  const std::string key = hashed(id);
  const RankPresence presence(key, rank, waits);
  const Result result = make_inside();
  if (result == kSuccess) note_made({{comm, {.key = key, .waits = waits}, presence}});
  return result;
}

Result Layer::init_all(Comm* comms, int count, const int* devices) {
  static std::atomic<int> last = 0;
  const std::string key = hashed(fmt::format("{} {}", getpid(), ++last));
  std::vector<Made> made;
  for (int rank = 0; rank < count && count > 1; ++rank)
    made.push_back({comms + rank, {.key = key}, RankPresence(key, rank, true)});
  const Result result = call_real(real_.CommInitAll, comms, count, devices);
  if (result == kSuccess && !made.empty()) note_made(std::move(made));
  return result;
}

Result Layer::split(Comm comm, int color, int key, Comm* made, std::optional<bool> waits,
                    void* config) {
  Entry child;
  std::optional<RankPresence> presence;
  int rank = 0;
  {
    const std::unique_lock lock(mutex_);
    const auto parent = entries_.find(comm);
    if (parent != entries_.end()) {
      const Entry& whole = *parent->second;
      child.waits = waits.value_or(whole.waits);
      child.key = hashed(fmt::format("{} {} {}", whole.key, splits_[comm]++, color));
    }
  }
  if (!child.key.empty() && color >= 0 && call_real(real_.CommUserRank, comm, &rank) == kSuccess)
    presence.emplace(child.key, rank, child.waits);
  const Result result = call_real(real_.CommSplit, comm, color, key, made, config);
  if (result == kSuccess && presence) note_made({{made, child, *presence}});
  return result;
}

// Communicators that a group makes are there at its end.
void Layer::note_made(std::vector<Made> made) {
  Group& group = Layer::group();
  if (group.depth == 0) return serve(std::move(made));
  std::move(made.begin(), made.end(), std::back_inserter(group.made));
}

// Ranks of one thread wait for each other, too.
void Layer::serve(std::vector<Made> made) {
  if (made.size() == 1) return serve(made.front());
  std::vector<std::jthread> threads;
  for (const Made& each : made)
    threads.emplace_back([&] {
      const Inside inside;
      serve(each);
    });
}

void Layer::serve(const Made& made) noexcept {
  try {
    const Comm comm = *made.comm;
    if (comm == nullptr) return;  // this rank is in no part of a split
    Entry entry = made.entry;
    int rank = 0;
    if (call_real(real_.CommUserRank, comm, &rank) != kSuccess ||
        call_real(real_.CommCount, comm, &entry.size) != kSuccess)
      return;
    const bool is_complete = entry.size > 1 && made.presence.is_complete(entry.size);
    entry.fate = is_complete || entry.size < 2 ? Fate::communicator : Fate::elsewhere;
    if (!is_complete) entry.presence = made.presence;  // other ranks may still look for it
    enter(comm, entry);
    if (entry.fate == Fate::elsewhere)
      complain("some ranks are on other computers, or without Polypath, or do not wait for it");
    if (!is_complete) return;
    entry.member = join(comm, rank, entry.size, made.presence);
    enter(comm, entry);
  } catch (const std::exception& error) {
    complain(error.what());
  }
}

std::shared_ptr<Member> Layer::join(Comm comm, int rank, int size, const RankPresence& presence) {
  const Inside inside;
  auto bootstrap = bootstrap_by_file(presence.meeting(), rank, size, kTimeout);
  Seat seat;
  note_problem(seat.problem, [&] { seat = seat_of(comm); });
  check_problems(*bootstrap, seat.problem);
  const auto seen = bootstrap->all_gather(said_of_gpus(seat.around->names), kTimeout);
  if (gpus_for_ranks(seen) == GpusOf::computer) {
    note_problem(seat.problem, [&] { seat.around = &open_(GpusOf::computer); });
    check_problems(*bootstrap, seat.problem);
  }
  if (rank == 0) presence.forget();
  const Surroundings& around = *seat.around;
  const PlaceId gpu = around.visible.at(static_cast<std::size_t>(seat.device));
  const Seconds met = around.driver.now();
  auto member = std::make_shared<Member>(around, gpu, std::move(bootstrap), kTimeout);
  const Seconds joined = around.driver.now();
  member->choose_by(choices_for(comm, *member));
  member->work_for_ever();
  log(LogLevel::debug,
      fmt::format("a communicator of {} ranks stands beside NCCL's: its memory and kernels took "
                  "{:.0f} ms, the comparison {:.0f} ms",
                  size, (joined - met).value * 1e3, (around.driver.now() - joined).value * 1e3));
  return member;
}

Layer::Seat Layer::seat_of(Comm comm) const {
  const Surroundings& around = open_(GpusOf::process);
  if (!has_collective_kernels(around.driver))
    fail(ErrorCode::unsupported, "collectives cannot be made here",
         "this build of Polypath has no kernels for GPUs", "Build it with nvcc.");
  int device = 0;
  if (call_real(real_.CommCuDevice, comm, &device) != kSuccess || device < 0 ||
      static_cast<std::size_t>(device) >= around.visible.size())
    fail(ErrorCode::unsupported, "a communicator's GPU is not known",
         fmt::format("it is number {} of {}", device, around.visible.size()));
  return {.around = &around, .device = device};
}

// Measured once for the same GPUs. Rank 0 says whether that was before.
Choices Layer::choices_for(Comm comm, Member& member) {
  std::vector<int> gpus;
  for (const Blob& each : member.all_gather(std::to_string(member.gpu().index())))
    gpus.push_back(std::stoi(each));
  const std::string around = circumstances(gpus, member);
  const ChoicesFile file(around);
  std::optional<Choices> known;
  if (member.rank() == 0) {
    known = measured_in(around);
    if (!known && member.around().keeps_choices) known = file.read();
  }
  const Blob said = member.all_gather(known ? choices_to_json(*known) : std::string()).front();
  Choices choices =
      said.empty() ? measure(real_, comm, member, most_measured_) : parse_choices(said, "rank 0");
  if (said.empty() && member.rank() == 0 && member.around().keeps_choices) file.write(choices);
  const std::unique_lock lock(mutex_);
  return measured_[around] = choices;
}

std::optional<Choices> Layer::measured_in(const std::string& circumstances) const {
  const std::shared_lock lock(mutex_);
  const auto found = measured_.find(circumstances);
  return found == measured_.end() ? std::nullopt : std::optional(found->second);
}

// All that the measurement depends on.
std::string Layer::circumstances(const std::vector<int>& gpus, Member& member) const {
  const Surroundings& around = member.around();
  int version = 0;
  if (real_.GetVersion != nullptr) (void)real_.GetVersion(&version);
  return fmt::format(
      "Polypath {}, choices {}, messages {}, NCCL {}, {} {:016x}, GPUs {}, multiprocessors {}, {}",
      POLYPATH_VERSION_TEXT, kChoicesRevision, member.messages() != nullptr, version,
      around.machine.name, Hash().add(machine_to_json(around.machine)).value(),
      fmt::join(gpus, " "), around.settings.collective_multiprocessors,
      fmt::join(nccl_variables(), " "));
}

void Layer::leave(Comm comm, bool aborts) noexcept {
  std::shared_ptr<Member> member;
  {
    const std::unique_lock lock(mutex_);
    const auto found = entries_.find(comm);
    if (found == entries_.end()) return;
    member = found->second->member;
    if (found->second->presence) found->second->presence->forget();
    entries_.erase(found), splits_.erase(comm);
  }
  if (!member) return;
  if (aborts && !member->is_idle()) member->abort();
  member->leave();
}

Result Layer::destroy(Comm comm) {
  leave(comm, false);
  return call_real(real_.CommDestroy, comm);
}

Result Layer::abort(Comm comm) {
  leave(comm, true);
  return call_real(real_.CommAbort, comm);
}

Result Layer::async_error(Comm comm, Result* error) {
  const Result result = call_real(real_.CommGetAsyncError, comm, error);
  if (result != kSuccess || error == nullptr || *error != kSuccess) return result;
  const auto entry = entry_of(comm);
  if (!entry || !entry->member) return result;
  if (const auto problem = entry->member->problem()) {
    if (entry->member->is_to_be_told()) log(LogLevel::error, *problem);
    last_error_.note(*problem);
    *error = kRemoteError;
  }
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
  const auto entry = entry_of(call.comm);
  if (!entry || !entry->member) return leave_to_nccl(call, entry ? *entry : Entry{});
  if (Group& group = Layer::group(); group.depth > 0) {
    if (const auto fate = left_at_once(*entry->member, call))
      return leave_to_nccl(call, *fate, entry->size);
    group.calls.push_back({call, entry->member});
    return kSuccess;
  }
  if (is_message(call)) {
    GroupMessages single(*entry->member, {call});
    const Result decided = decide(single, entry->size);
    return decided == kSuccess ? attempt([&] { single.run(false, counts_); }) : decided;
  }
  if (entry->member->is_ours(call)) return run_ours(*entry->member, {&call, 1});
  return leave_to_nccl(call, fate_of(*entry->member, call), entry->size);
}

Result Layer::leave_to_nccl(const Call& call, const Entry& entry) {
  return leave_to_nccl(call, entry.fate, std::max(entry.size, 1));
}

Result Layer::leave_to_nccl(const Call& call, Fate fate, int size) {
  counts_.count(call.operation, message_of(call, size), fate);
  group().has_left = true;
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
    complain(error.what());
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
  Group& own = group();
  if (own.depth++ == 0) own.has_left = false;
  return result;
}

Result Layer::group_end() {
  Group& group = Layer::group();
  if (group.depth == 1) return end_outermost(group);
  if (group.depth > 1) --group.depth;
  return call_real(real_.GroupEnd);
}

// As NCCL has it, collectives come first. Messages are enqueued before NCCL's group ends: that may
// wait for other ranks, which may wait for these.
Result Layer::end_outermost(Group& group) {
  group.depth = 0;
  if (group.calls.empty() && group.made.empty()) return call_real(real_.GroupEnd);
  const std::vector<CallsOfMember> all = sorted(std::exchange(group.calls, {}));
  std::vector<Made> made = std::exchange(group.made, {});
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
  if (!made.empty() && result == kSuccess) serve(std::move(made));
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
  Group& group = Layer::group();
  for (const Kept& kept : std::exchange(group.calls, {})) {
    const Inside inside;
    if (const Result result = make(real_, kept.call); result != kSuccess) return result;
  }
  if (group.depth > 0) --group.depth;
  return call_real(real_.GroupSimulateEnd, info);
}

std::vector<Layer::CallsOfMember> Layer::sorted(const std::vector<Kept>& kept) {
  std::vector<CallsOfMember> all;
  for (const Kept& each : kept) {
    auto found = std::ranges::find(all, each.member, &CallsOfMember::member);
    if (found == all.end()) found = all.insert(found, {each.member, {}, {}});
    (is_message(each.call) ? found->messages : found->collectives).push_back(each.call);
  }
  return all;
}

// The group of the real library is still open.
Result Layer::leave_in_group(const CallsOfMember& of) {
  Result result = kSuccess;
  for (const Call& call : of.collectives) {
    const Fate fate = of.member->is_ours(call) ? Fate::in_group : fate_of(*of.member, call);
    const Result left = leave_to_nccl(call, fate, of.member->size());
    if (result == kSuccess) result = left;
  }
  return result;
}

}  // namespace polypath::nccl
