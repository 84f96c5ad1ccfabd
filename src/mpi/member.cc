#include "mpi/member.h"

#include <fmt/format.h>
#include <sched.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/ignore_errors.h"
#include "core/interruption.h"
#include "core/log.h"

namespace polypath::mpi {
namespace {

constexpr std::size_t kMostRepeated = 4096;  // some KiB each

// A call that needs nothing else than itself, if its addresses are the program's.
bool is_repeatable(const Library& library, const Call& call) {
  switch (call.operation) {
    case Operation::all_reduce:
    case Operation::broadcast:
    case Operation::all_gather:
    case Operation::all_to_all: return true;
    case Operation::gather:
    case Operation::reduce:
    case Operation::reduce_scatter_block: return call.send.memory != library.in_place;
    default: return false;
  }
}

std::string key_of(const Call& call) {
  std::string text;
  const auto add = [&](const auto&... parts) {
    (text.append(reinterpret_cast<const char*>(&parts), sizeof parts), ...);
  };
  add(call.operation, call.send.memory, call.receive.memory, call.send.count, call.send.type,
      call.receive.count, call.receive.type, call.reduction, call.root);
  return text;
}

}  // namespace

Member::Member(const Library& library, MemberPlace place, Arena& arena, CallStreams& streams,
               Invitation invitation)
    : library_(library),
      place_(std::move(place)),
      arena_(arena),
      streams_(streams),
      invitation_(invitation),
      announcements_(arena, arena.block(static_cast<int>(invitation.block)), place_.in_node.rank,
                     place_.in_node.size) {}

Member::~Member() {
  leave();
  arena_.leave(static_cast<int>(invitation_.block), place_.in_node.size);
}

// Messages of calls that have failed may still be MPI's, and their memory with them.
void Member::leave() noexcept {
  if (place_.internode != nullptr) ignore_errors([&] { place_.internode->await_votes(); });
  if (place_.internode != nullptr && place_.internode->is_busy()) {
    log(LogLevel::warning, "memory of collectives stays in use: messages of MPI's do not end");
    (void)owned_.release();
  }
  owned_.reset();
  if (place_.internode != nullptr) place_.internode->give_up();
}

// In their turn all ranks are on their way to it.
std::vector<Count> Member::exchange(const std::vector<Count>& mine) {
  if (place_.internode != nullptr) return place_.internode->numbers().told_counts();
  constexpr int kSpins = 4096;
  return announcements_.exchange(mine, [this, spins = 0]() mutable {
    if (++spins % kSpins != 0) return;
    check();
    std::this_thread::yield();
  });
}

// Returns why it could not; nothing else is heard of an error.
std::string Member::try_to_make(const Call& call, const Open& open) {
  try {
    owned_ = make_work(
        {.library = library_, .place = place_, .streams = streams_, .invitation = invitation_},
        call, open);
    return {};
  } catch (const Error& error) {
    if (place_.internode != nullptr) place_.internode->give_up();  // the messages' end is gone
    return error.what();
  }
}

std::string Member::why_others_cannot() const {
  try {
    if (owned_ != nullptr) check();
  } catch (const Error& error) {
    return error.what();
  }
  return "another rank cannot take part";
}

void Member::go_on_together(bool all_have_joined, int gpu, const std::string& problem) {
  if (all_have_joined) {
    if (gpu >= 0) gpu_ = gpu;
    working_ = owned_.get();
    return;
  }
  why_not_ = problem.empty() ? why_others_cannot() : problem;
  leave();
  is_out_ = true;
  log(LogLevel::info, "a communicator of MPI is left to it: " + why_not_);
}

// All ranks join, or none does. What happens to those that have joined is not heard of here: they
// go on to their first call before the others know. A rank that cannot is known at once, in its own
// words if it has met the others.
void Member::join(const Call& call, int gpu, const Open& open) {
  const std::string problem = [&] {
    const Interruptible waits([this] {
      if (announcements_.has_one_failed())
        fail(ErrorCode::communicator, "Not all ranks can take part", "one of them has given up",
             "Look at what it says.");
    });
    return try_to_make(call, open);
  }();
  announcements_.note_joined(owned_ != nullptr);
  std::optional<bool> joined;
  while (!(joined = announcements_.have_joined()))
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  go_on_together(*joined, gpu, problem);
}

void Member::join_nodes(const Call& call, int gpu, const Open& open, const Wait& wait) {
  if (working_ != nullptr || is_out_) return;
  const std::string problem = try_to_make(call, open);
  const bool have_all = place_.internode->ballot().all_say(owned_ != nullptr, wait);
  go_on_together(have_all, gpu, problem);
}

Count Member::tell_nodes(const Call& call, Count number, const Wait& wait) {
  return place_.internode->numbers().tell(counts_to_tell(library_, call, seat()), number, wait);
}

std::optional<EventHandle> Member::mark_default_stream() {
  MemberWork* const working = working_;
  if (working == nullptr) return std::nullopt;
  const EventHandle mark = working->event();
  working->driver.record(mark, working->before);
  return mark;
}

bool Member::can_run(const Call& call, int gpu, const Open& open) {
  if (working_ == nullptr && !is_out_ && place_.internode == nullptr) join(call, gpu, open);
  return working_ != nullptr;
}

EventHandle Member::enqueue(const Call& call, std::optional<EventHandle> mark) {
  MemberWork& here = *owned_;
  const EventHandle event = here.event();  // of the beginning, and then of the end
  if (!mark) here.driver.record(event, here.before);
  here.driver.wait(here.stream, mark.value_or(event));
  if (PersistentCall* const known = repeated(call)) here.ranks->run(*known, here.stream);
  else take_steps(call);
  here.scratch.release_all();  // the next call's use of it comes behind this one's
  here.driver.record(event, here.stream);
  // A simulated stream goes on by itself only once all that it waits for is queued.
  if (!here.driver.simulation().empty()) here.ranks->await_messages();
  return event;
}

bool Member::is_done(EventHandle event) const { return owned_->driver.is_done(event); }

// An event behind a call comes after all messages that the call has on this rank.
void Member::await(EventHandle event) const {
  if (place_.internode == nullptr) {
    owned_->driver.synchronize(event);
    return check();
  }
  while (!owned_->driver.is_done(event)) {
    place_.internode->progress();
    if (const auto failure = place_.internode->failure())
      owned_->ranks->communicator().abort(failure->what(), failure->code());
    check();
    sched_yield();
  }
  check();
}

void Member::give_back(EventHandle event) noexcept {
  const std::scoped_lock lock(owned_->mutex);
  owned_->free_events.push_back(event);
}

void Member::check() const { owned_->ranks->communicator().check(); }

void Member::copy(const LocalCopy& copy) {
  owned_->driver.copy_native({.destination = copy.to, .source = copy.from, .bytes = copy.bytes},
                             owned_->stream);
}

void Member::take_steps(const Call& call) {
  const auto exchange_counts = [this](const std::vector<Count>& mine) { return exchange(mine); };
  const Steps steps = steps_of(library_, call, seat(), owned_->scratch, exchange_counts);
  for (const LocalCopy& before : steps.before) copy(before);
  for (const CollectiveCall& each : steps.calls) owned_->ranks->run(each, owned_->stream);
  for (const LocalCopy& after : steps.after) copy(after);
}

// Programs make the same calls again and again: the results of the first call are kept.
PersistentCall* Member::repeated(const Call& call) {
  if (!is_repeatable(library_, call)) return nullptr;
  auto& known = owned_->repeated;
  const std::string key = key_of(call);
  if (const auto found = known.find(key); found != known.end()) return &found->second;
  if (known.size() > kMostRepeated) known.clear();
  const auto no_exchange = [](const std::vector<Count>& mine) { return mine; };
  const Steps steps = steps_of(library_, call, seat(), owned_->scratch, no_exchange);
  if (steps.calls.size() != 1 || !steps.before.empty() || !steps.after.empty()) return nullptr;
  return &known.emplace(key, PersistentCall(steps.calls.front())).first->second;
}

void Member::abort(const std::string& why) noexcept {
  if (working_ == nullptr) return;
  ignore_errors([&] {
    owned_->ranks->communicator().abort(
        fmt::format("Rank {} has given up ({}) Correct that first.", seat().rank, why));
  });
}

}  // namespace polypath::mpi
