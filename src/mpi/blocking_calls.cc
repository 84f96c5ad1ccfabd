#include "mpi/blocking_calls.h"

#include <utility>

#include "core/error.h"
#include "mpi/bottom.h"

namespace polypath::mpi {
namespace {

// A memory that this rank has in the call.
bool has_memory(const Library& library, const Side& side) {
  if (side.parts == 0 || side.memory == library.in_place) return false;
  if (side.memory == nullptr) return range_of(library, side).begin > 0;  // MPI_BOTTOM
  if (!side.counts.is_there()) return side.count > 0;
  for (int part = 0; part < side.parts; ++part)
    if (side.counts[part] > 0) return true;
  return false;
}

bool has(const Member& member, Operation operation) {
  return member.internode() == nullptr || member.internode()->has(operation);
}

// After an error of a call of the member's: its other ranks are told.
void give_up(Member& member, const Error& problem) {
  member.abort(problem.what());
  if (InternodeMember* const nodes = member.internode()) nodes->note_failure(problem);
}

// Ranks that have had the error of an earlier call may never come to this one.
Wait heeding_failures(Member& member, const Wait& wait) {
  InternodeMember* const nodes = member.internode();
  if (nodes == nullptr) return wait;
  return [nodes, &wait] {
    wait();
    nodes->progress();
    if (const auto failure = nodes->failure()) throw *failure;
  };
}

int rank_of_process(const Library& library) {
  int rank = 0;
  library.real.Comm_rank(library.world, &rank);
  return rank;
}

}  // namespace

std::optional<int> BlockingCalls::gpu_that_has(const Side& side) const {
  if (!has_memory(library_, side)) return std::nullopt;
  if (side.memory != nullptr) return gpu_of_(side.memory);
  return gpu_of_elements(gpu_of_, nullptr, range_of(library_, side));
}

Passed BlockingCalls::passed(const Call& call, const Member* member) const {
  const auto sent = gpu_that_has(call.send), received = gpu_that_has(call.receive);
  const bool on_host = (!sent && has_memory(library_, call.send)) ||
                       (!received && has_memory(library_, call.receive));
  if (!sent && !received)
    return {.buffers = on_host || is_empty(call) ? Buffers::host : Buffers::none};
  const int gpu = received.value_or(sent.value_or(-1));
  if (member == nullptr || member->is_out())
    return {.buffers = Buffers::device, .gpu = gpu, .fate = Fate::communicator};
  if (!member->is_at(gpu) || sent.value_or(gpu) != gpu)
    return {.buffers = Buffers::device, .gpu = gpu, .fate = Fate::other_gpu};
  if (on_host || !is_ours(library_, call))
    return {.buffers = Buffers::device, .gpu = gpu, .fate = Fate::other_kind};
  if (!has(*member, call.operation))
    return {.buffers = Buffers::device, .gpu = gpu, .fate = Fate::among_nodes};
  return {.buffers = Buffers::ours, .gpu = gpu, .fate = Fate::mixed};
}

Result BlockingCalls::make(const Call& call, Member* member, const RealCall& real, const Wait& wait,
                           std::unique_ptr<Mark> mark) {
  Passed mine = passed(call, member);
  if (member != nullptr && make_if_ours(call, *member, mine, wait, std::move(mark)))
    return kSuccess;
  return mine.gpu < 0 ? real(call.send.memory, call.receive.memory)
                      : leave_to_mpi(call, mine.fate, real);
}

bool BlockingCalls::make_if_ours(const Call& call, Member& member, Passed& mine, const Wait& wait,
                                 std::unique_ptr<Mark> mark) {
  const Wait heeding = heeding_failures(member, wait);
  try {
    std::optional<CallOrder::Place> place;
    if (!agree(call, member, mine, place, heeding)) return false;
    OwnCall own(member, call, mine.gpu, open_);
    own.announce(turns_, mine.buffers, heeding, std::move(mark));
    while (own.state() == Turn::State::waiting) heeding();
    if (own.state() == Turn::State::mpis) {
      if (member.is_out()) mine.fate = Fate::communicator;
      return false;
    }
    own.await();
  } catch (const Error& problem) {
    give_up(member, problem);
    if (is_asked(mine.buffers)) throw;
    return false;  // the host's memory needs no rank of ours
  }
  counts_.count(call.operation, Fate::ours);
  return true;
}

bool BlockingCalls::agree(const Call& call, Member& member, Passed& mine,
                          std::optional<CallOrder::Place>& place, const Wait& wait) {
  if (member.internode() != nullptr) return agree_among_nodes(call, member, mine, place, wait);
  if (is_asked(mine.buffers)) return true;
  member.announcements().make_room(wait);
  member.announcements().announce(mine.buffers);
  return false;
}

// Ranks do not announce memory of the host in the node. Those that have no part in a call of ours
// find that at the same call.
bool BlockingCalls::agree_among_nodes(const Call& call, Member& member, Passed& mine,
                                      std::optional<CallOrder::Place>& place, const Wait& wait) {
  if (!member.is_out()) {
    InternodeMember& nodes = *member.internode();
    if (const auto failure = nodes.failure()) {
      if (is_asked(mine.buffers)) throw *failure;
      return false;  // in MPI, without votes, which ranks that have failed do not give
    }
    const auto verdict = nodes.ballot().decide(mine.buffers, wait);
    if (verdict == Ballot::Verdict::quiet && mine.buffers == Buffers::ours) mine.fate = Fate::quiet;
    if (verdict != Ballot::Verdict::ours) return false;
    await_place(call, member, place, wait);
    member.join_nodes(call, mine.gpu, open_, wait);
  }
  if (member.is_out()) mine.fate = Fate::communicator;
  return !member.is_out();
}

void BlockingCalls::await_place(const Call& call, Member& member,
                                std::optional<CallOrder::Place>& place, const Wait& wait) {
  if (member.internode()->numbers().has_places()) place.emplace(order_, rank_of_process(library_));
  const Count number = member.tell_nodes(call, place ? place->number() : 0, wait);
  if (!place) return;
  place->settle(number);
  while (!place->is_first()) wait();
}

Result BlockingCalls::leave_to_mpi(const Call& call, Fate fate, const RealCall& real) const {
  counts_.count(call.operation, fate);
  if (library_.takes_gpu_memory()) return real(call.send.memory, call.receive.memory);
  counts_.note_staging();
  HostCopies copies(library_, open_(GpusOf::process), call, gpu_of_);
  const Result result = real(copies.send(), copies.receive());
  if (result == kSuccess) copies.give_back();
  return result;
}

}  // namespace polypath::mpi
