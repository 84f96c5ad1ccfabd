#include "mpi/layer.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "core/plain_memory.h"

namespace polypath::mpi {
Layer::Layer(Library library, Open open, GpuOf ask, NodeOfJob job, bool raises_threads)
    : library_(library),
      open_(std::move(open)),
      job_(std::move(job)),
      raises_threads_(raises_threads),
      communicators_(library_, [this](Member& member) { end(member); }),
      blocking_(library_, open_, ask, turns_, counts_),
      nonblocking_(library_, open_, ask, turns_, counts_),
      aside_(library_, turns_, blocking_, nonblocking_),
      persistent_(library_, open_, ask, nonblocking_),
      windows_(
          library_, open_, ask,
          [this](Handle comm) {
            const Member* const member = communicators_.member_of(comm);
            return member != nullptr && member->internode() == nullptr;
          },
          [this] { go_on(); }) {}

Result Layer::init(bool joins, int level, const Make& make) {
  job_.enter(joins);
  const Result result = make(raises_threads_ ? std::max(level, library_.threads) : level);
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
  const Aside* const aside = member.internode() != nullptr ? member.internode()->aside() : nullptr;
  while (aside != nullptr && !aside->is_idle()) go_on();
}

bool Layer::is_plain_call(Handle comm, const void* send, const void* receive, bool blocks) {
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
  if (!blocks) return member->internode()->aside() == nullptr;
  return member->is_out() || member->internode()->ballot().pass_host();
}

void Layer::note_made(Handle comm) {
  if (comm != library_.no_communicator) (void)communicators_.member_of(comm);
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
  if (++waits % kSpins != 0 && !aside_.any()) return;  // a thread of ours needs a processor
  int flag = 0;
  library_.real.Iprobe(library_.any_source, kUnusedTag, library_.world, &flag,
                       library_.status_ignore);
  sched_yield();
}

Result Layer::collective(const Call& call, const RealCall& real) {
  Member* const member = communicators_.member_of(call.comm);
  const auto wait = [this] { go_on(); };
  while (member != nullptr && nonblocking_.any() && nonblocking_.has_not_begun(*member)) wait();
  try {
    return blocking_.make(call, member, real, wait);
  } catch (const Error& problem) {
    return error(call, problem.what());
  }
}

// The host's memory is MPI's at once, unless calls before it have not been begun. This must not
// wait for other ranks, and so looks at no communicator.
Result Layer::begin(const Call& call, RealStart start, void* request) {
  Member* const member = communicators_.member_if_any(call.comm);
  if (member != nullptr && member->internode() != nullptr)
    return begin_among_nodes(call, *member, std::move(start), request);
  Passed mine = blocking_.passed(call, member);
  if (mine.buffers == Buffers::none) mine.buffers = Buffers::host;  // it does not wait to hear more
  const bool is_behind =
      member != nullptr && nonblocking_.any() && nonblocking_.has_not_begun(*member);
  if (mine.buffers == Buffers::host && !is_behind) {
    if (member != nullptr) {
      member->announcements().make_room([this] { go_on(); });
      member->announcements().announce(mine.buffers);
    }
    return start(call.comm, call.send.memory, call.receive.memory, request);
  }
  return nonblocking_.begin({.call = call,
                             .start = std::move(start),
                             .member = member,
                             .buffers = mine.buffers,
                             .gpu = mine.gpu,
                             .fate = mine.fate},
                            request);
}

Result Layer::begin_among_nodes(const Call& call, Member& member, RealStart start, void* request) {
  if (Aside* const aside = member.internode()->aside())
    return aside_.begin(*aside, call, std::move(start), request);
  const Passed mine = blocking_.passed(call, &member);
  if (mine.gpu < 0) return start(call.comm, call.send.memory, call.receive.memory, request);
  const Fate fate = mine.buffers == Buffers::ours ? Fate::no_thread : mine.fate;
  return nonblocking_.begin(
      {.call = call, .start = std::move(start), .gpu = mine.gpu, .fate = fate}, request);
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

// To make a call may take as long as other ranks do; to start it must not. Calls of several nodes
// are MPI's: nothing says in which order ranks start them.
Result Layer::make_persistent(const Call& call, const RealStart& start, void* request) {
  Member* const member = communicators_.member_of(call.comm);
  const bool is_in_node = member != nullptr && member->internode() == nullptr;
  Passed mine = blocking_.passed(call, member);
  if (!is_in_node && mine.buffers == Buffers::ours) mine.fate = Fate::among_nodes;
  try {
    if (is_in_node && agree(*member, call, mine) &&
        persistent_.make_ours(*job_.arena(), *member, member->seat(), call, mine.gpu, request))
      return kSuccess;
    if (mine.gpu < 0 || library_.takes_gpu_memory())
      return start(call.comm, call.send.memory, call.receive.memory, request);
    return persistent_.make_staged(call, mine.gpu, mine.fate, start, request);
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
