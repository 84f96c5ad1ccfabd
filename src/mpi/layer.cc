#include "mpi/layer.h"

#include <fmt/format.h>
#include <sched.h>

#include <utility>
#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "core/plain_memory.h"
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

// Calls of several nodes that do not block are MPI's: messages go while the ranks are in a call.
Member* of_one_node(Member* member) {
  return member == nullptr || member->internode() != nullptr ? nullptr : member;
}

// After an error of a call of the member's: its other ranks are told.
void give_up(Member& member, const Error& problem) {
  member.abort(problem.what());
  if (InternodeMember* const nodes = member.internode()) {
    nodes->ballot().abandon();
    nodes->tell_others();
  }
}

// Ranks that have had the error of an earlier call may never vote on this one.
Ballot::Verdict vote(InternodeMember& nodes, Buffers mine, const std::function<void()>& go_on) {
  return nodes.ballot().decide(mine, [&] {
    go_on();
    nodes.progress();
    if (const auto failure = nodes.failure()) throw *failure;
  });
}

}  // namespace

Layer::Layer(Library library, Open open, GpuOf ask, NodeOfJob job)
    : library_(library),
      open_(std::move(open)),
      gpu_of_(ask),
      job_(std::move(job)),
      communicators_(library_, [this](Member& member) { end(member); }),
      nonblocking_(library_, open_, gpu_of_, turns_, counts_),
      persistent_(library_, open_, gpu_of_, nonblocking_),
      windows_(
          library_, open_, gpu_of_,
          [this](Handle comm) {
            const Member* const member = communicators_.member_of(comm);
            return member != nullptr && member->internode() == nullptr;
          },
          [this] { go_on(); }) {}

Result Layer::init(bool joins, const std::function<Result()>& make) {
  job_.enter(joins);
  const Result result = make();
  if (result == kSuccess) meet();
  return result;
}

void Layer::meet() {
  if (job_.meet(library_)) communicators_.begin(*job_.arena(), job_.nodes());
  note_made(library_.world);
}

void Layer::finalize() noexcept {
  turns_.stop();
  windows_.end();
  communicators_.end();
  job_.leave();
}

// MPI frees a communicator once its calls are over.
void Layer::end(Member& member) noexcept {
  while (nonblocking_.any() && nonblocking_.is_any_of(member)) go_on();
  persistent_.forget(member);
}

bool Layer::is_plain_call(Handle comm, const void* send, const void* receive) {
  const auto is_plain = [&](const void* memory) {
    return memory == library_.in_place || is_plain_host_memory(memory);
  };
  if (!is_plain(receive) || !(send == receive || is_plain(send))) return false;
  if (nonblocking_.any()) return false;
  if (job_.arena() == nullptr) return true;
  Member* member = nullptr;
  if (!communicators_.is_latest(comm, member)) return false;
  if (member == nullptr) return true;
  if (member->internode() == nullptr) return member->announcements().announce_host();
  return member->is_out() || member->internode()->ballot().pass_host();
}

void Layer::note_made(Handle comm) {
  if (comm != library_.no_communicator) (void)communicators_.member_of(comm);
}

std::optional<int> Layer::gpu_of(const Side& side) const {
  if (!has_memory(library_, side)) return std::nullopt;
  if (side.memory != nullptr) return gpu_of_(side.memory);
  return gpu_of_elements(gpu_of_, nullptr, range_of(library_, side));
}

Layer::Passed Layer::passed(const Call& call, const Member* member) const {
  const auto sent = gpu_of(call.send), received = gpu_of(call.receive);
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

// A rank may be held up by a message that this one sends: MPI sends on while it is asked something.
void Layer::go_on() {
  constexpr int kSpins = 200;  // about a microsecond
  // Every MPI has it. Of a message that is there MPI would tell without looking any further, and
  // for MPI_COMM_SELF MPICH does not look at all.
  constexpr int kUnusedTag = 32749;
  thread_local int waits = 0;
  turns_.go_on();
  if (nonblocking_.any()) nonblocking_.go_on();
  if (++waits % kSpins != 0) return;
  int flag = 0;
  library_.real.Iprobe(library_.any_source, kUnusedTag, library_.world, &flag,
                       library_.status_ignore);
  sched_yield();
}

Result Layer::collective(const Call& call, const RealCall& real) {
  Member* const member = communicators_.member_of(call.comm);
  Passed mine = passed(call, member);
  if (member != nullptr) {
    const auto wait = [this] { go_on(); };
    while (nonblocking_.any() && nonblocking_.has_not_begun(*member)) wait();
    if (member->internode() != nullptr) {
      if (const auto result = run_among_nodes(*member, call, mine)) return *result;
    } else if (is_asked(mine.buffers)) {
      if (const auto result = run_if_ours(*member, call, mine)) return *result;
      if (member->is_out()) mine.fate = Fate::communicator;
    } else {
      member->announcements().make_room(wait);
      member->announcements().announce(mine.buffers);
    }
  }
  return mine.gpu < 0 ? real(call.send.memory, call.receive.memory)
                      : leave_to_mpi(call, mine.fate, real);
}

std::optional<Result> Layer::run_if_ours(Member& member, const Call& call, const Passed& mine) {
  try {
    const auto wait = [this] { go_on(); };
    if (member.internode() != nullptr) {
      member.meet_nodes(call, mine.gpu, open_, wait);
      if (member.is_out()) return std::nullopt;
    }
    OwnCall own(member, call, mine.gpu, open_);
    own.announce(turns_, mine.buffers, wait);
    while (own.state() == Turn::State::waiting) go_on();
    if (own.state() == Turn::State::mpis) return std::nullopt;
    own.await();
    counts_.count(call.operation, Fate::ours);
    return kSuccess;
  } catch (const Error& problem) {
    give_up(member, problem);
    return error(call, problem.what());
  }
}

std::optional<Result> Layer::run_among_nodes(Member& member, const Call& call, Passed& mine) {
  if (member.is_out()) {  // at all ranks
    mine.fate = Fate::communicator;
    return std::nullopt;
  }
  Ballot::Verdict verdict = Ballot::Verdict::quiet;
  try {
    verdict = vote(*member.internode(), mine.buffers, [this] { go_on(); });
  } catch (const Error& problem) {
    give_up(member, problem);
    return error(call, problem.what());
  }
  if (verdict == Ballot::Verdict::ours) {
    if (const auto result = run_if_ours(member, call, mine)) return result;
    mine.fate = Fate::communicator;
  } else if (verdict == Ballot::Verdict::quiet && mine.buffers == Buffers::ours) {
    mine.fate = Fate::quiet;
  }
  return std::nullopt;
}

// The host's memory is MPI's at once, unless calls before it have not been begun. This must not
// wait for other ranks, and so looks at no communicator.
Result Layer::begin(const Call& call, RealStart start, void* request) {
  Member* const member = of_one_node(communicators_.member_if_any(call.comm));
  Passed mine = passed(call, member);
  if (mine.buffers == Buffers::none) mine.buffers = Buffers::host;  // it does not wait to hear more
  const bool is_behind =
      member != nullptr && nonblocking_.any() && nonblocking_.has_not_begun(*member);
  if (mine.buffers == Buffers::host && !is_behind) {
    if (member != nullptr) {
      member->announcements().make_room([this] { go_on(); });
      member->announcements().announce(mine.buffers);
    }
    return start(call.send.memory, call.receive.memory, request);
  }
  return nonblocking_.begin({.call = call,
                             .start = std::move(start),
                             .member = member,
                             .buffers = mine.buffers,
                             .gpu = mine.gpu,
                             .fate = mine.fate},
                            request);
}

bool Layer::agree(Member& member, const Call& call, const Passed& mine) {
  const auto wait = [this] { go_on(); };
  while (nonblocking_.any() && nonblocking_.has_not_begun(member)) wait();
  member.announcements().make_room(wait);
  if (!is_asked(mine.buffers)) {
    member.announcements().announce(mine.buffers);
    return false;
  }
  Turn turn;
  turn.announcements = &member.announcements();
  turn.begin = [&] { return member.can_run(call, mine.gpu, open_); };
  turns_.announce(turn, mine.buffers);
  while (turn.state == Turn::State::waiting) wait();
  return turn.state == Turn::State::ours;
}

// To make a call may take as long as other ranks do; to start it must not.
Result Layer::make_persistent(const Call& call, const RealStart& start, void* request) {
  Member* const member = of_one_node(communicators_.member_of(call.comm));
  const Passed mine = passed(call, member);
  try {
    if (member != nullptr && agree(*member, call, mine) &&
        persistent_.make_ours(*job_.arena(), *member, member->seat(), call, mine.gpu, request))
      return kSuccess;
    if (mine.gpu < 0 || library_.takes_gpu_memory())
      return start(call.send.memory, call.receive.memory, request);
    return persistent_.make_staged(call, mine.gpu, mine.fate, start, request);
  } catch (const Error& problem) {
    return error(call, problem.what());
  }
}

Result Layer::leave_to_mpi(const Call& call, Fate fate, const RealCall& real) {
  counts_.count(call.operation, fate);
  if (library_.takes_gpu_memory()) return real(call.send.memory, call.receive.memory);
  counts_.note_staging();
  try {
    HostCopies copies(library_, open_(GpusOf::process), call, gpu_of_);
    const Result result = real(copies.send(), copies.receive());
    if (result == kSuccess) copies.give_back();
    return result;
  } catch (const Error& problem) {
    return error(call, problem.what());
  }
}

// The program's handler may come back, and MPI then says that calling it was a success.
Result Layer::error(const Call& call, const char* why) const {
  log(LogLevel::error, fmt::format("MPI {}: {}", name_of(call.operation), why));
  library_.real.Comm_call_errhandler(call.comm, library_.other_error);
  return library_.other_error;
}

}  // namespace polypath::mpi
