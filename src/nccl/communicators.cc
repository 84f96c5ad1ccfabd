#include "nccl/communicators.h"

#include <fmt/format.h>

#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/hash.h"
#include "core/log.h"
#include "nccl/inside.h"

namespace polypath::nccl {
namespace {

// Until all ranks have met, and for each exchange of theirs.
constexpr Seconds kTimeout{30};

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

}  // namespace

std::string communicator_key(std::string_view text) {
  return fmt::format("nccl-{:016x}{:016x}", Hash().add(text).value(),
                     Hash(~0ULL).add(text).value());
}

std::string Communicators::why_not() const {
  const std::shared_lock lock(mutex_);
  return why_not_;
}

void Communicators::complain(const std::string& why) noexcept {
  log(LogLevel::info, "a communicator of NCCL is left to it: " + why);
  const std::unique_lock lock(mutex_);
  why_not_ = why;
}

std::shared_ptr<const KnownCommunicator> Communicators::find(Comm comm) const {
  const std::shared_lock lock(mutex_);
  const auto found = known_.find(comm);
  return found == known_.end() ? nullptr : found->second;
}

void Communicators::enter(Comm comm, KnownCommunicator known) {
  const std::unique_lock lock(mutex_);
  known_[comm] = std::make_shared<KnownCommunicator>(std::move(known));
}

KnownCommunicator Communicators::child_of(Comm comm, int color, std::optional<bool> waits) {
  const std::unique_lock lock(mutex_);
  const auto parent = known_.find(comm);
  if (parent == known_.end()) return {};
  const KnownCommunicator& whole = *parent->second;
  return {.key = communicator_key(fmt::format("{} {} {}", whole.key, splits_[comm]++, color)),
          .waits = waits.value_or(whole.waits)};
}

// Ranks of one thread wait for each other, too.
void Communicators::serve(std::vector<MadeCommunicator> made) {
  if (made.size() == 1) return serve(made.front());
  std::vector<std::jthread> threads;
  for (const MadeCommunicator& each : made)
    threads.emplace_back([&] {
      const Inside inside;
      serve(each);
    });
}

void Communicators::serve(const MadeCommunicator& made) noexcept {
  try {
    const Comm comm = *made.comm;
    if (comm == nullptr) return;  // this rank is in no part of a split
    KnownCommunicator known = made.known;
    int rank = 0;
    if (call_real(real_.CommUserRank, comm, &rank) != kSuccess ||
        call_real(real_.CommCount, comm, &known.size) != kSuccess)
      return;
    const bool is_complete = known.size > 1 && made.presence.is_complete(known.size);
    known.fate = is_complete || known.size < 2 ? Fate::communicator : Fate::elsewhere;
    if (!is_complete) known.presence = made.presence;  // other ranks may still look for it
    enter(comm, known);
    if (known.fate == Fate::elsewhere)
      complain("some ranks are on other computers, or without Polypath, or do not wait for it");
    if (!is_complete) return;
    known.member = join(comm, rank, known.size, made.presence);
    enter(comm, known);
  } catch (const std::exception& error) {
    complain(error.what());
  }
}

std::shared_ptr<Member> Communicators::join(Comm comm, int rank, int size,
                                            const RankPresence& presence) {
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
  member->choose_by(choices_.for_member(comm, *member));
  member->work_for_ever();
  log(LogLevel::debug,
      fmt::format("a communicator of {} ranks stands beside NCCL's: its memory and kernels took "
                  "{:.0f} ms, the comparison {:.0f} ms",
                  size, (joined - met).value * 1e3, (around.driver.now() - joined).value * 1e3));
  return member;
}

Communicators::Seat Communicators::seat_of(Comm comm) const {
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

void Communicators::leave(Comm comm, bool aborts) noexcept {
  std::shared_ptr<Member> member;
  {
    const std::unique_lock lock(mutex_);
    const auto found = known_.find(comm);
    if (found == known_.end()) return;
    member = found->second->member;
    if (found->second->presence) found->second->presence->forget();
    known_.erase(found), splits_.erase(comm);
  }
  if (!member) return;
  if (aborts && !member->is_idle()) member->abort();
  member->leave();
}

}  // namespace polypath::nccl
