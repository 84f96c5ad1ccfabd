#include "nccl/communicators.h"

#include <fmt/format.h>

#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/note_problem.h"
#include "nccl/inside.h"
#include "nccl/node_member.h"
#include "nccl/nodes_member.h"

namespace polypath::nccl {
namespace {

// Until all ranks have met, and for each exchange of theirs.
constexpr Seconds kTimeout{30};

void check_nodes(const Nodes& nodes) {
  const std::size_t ranks = nodes.ranks_on(0).size();
  if (ranks < 2)
    fail(ErrorCode::unsupported, "a communicator of several nodes cannot be served",
         "a node has one of its ranks", "Let each node have two or more.");
  for (int node = 1; node < nodes.count(); ++node)
    if (nodes.ranks_on(node).size() != ranks)
      fail(ErrorCode::unsupported, "a communicator of several nodes cannot be served",
           fmt::format("node 0 has {} of its ranks, node {} has {}", ranks, node,
                       nodes.ranks_on(node).size()),
           "Let all nodes have as many.");
}

// A communicator of several nodes has a board if that is asked for.
const char* why_not_all_met(const KnownCommunicator& known) {
  return known.board
             ? "some ranks are without Polypath, or do not reach each other, or do not "
               "wait for it"
             : "some ranks are on other computers, which are served with "
               "POLYPATH_NCCL_NODES=1 alone, or are without Polypath, or do not wait for it";
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

// A thread asks for the same one again and again: then it does not take the lock that threads of
// other GPUs take, too.
std::shared_ptr<const KnownCommunicator> Communicators::find(Comm comm) const {
  thread_local bool is_over = false;  // in destructors that run after the thread's objects are gone
  struct Last {
    Last() = default;
    Last(const Last&) = delete;
    Last& operator=(const Last&) = delete;
    ~Last() { is_over = true; }

    const Communicators* among = nullptr;
    std::uint64_t changes = 0;
    Comm comm = nullptr;
    std::weak_ptr<const KnownCommunicator> found;
  };
  thread_local Last last;
  const std::uint64_t changes = changes_.load(std::memory_order_acquire);
  if (!is_over && last.among == this && last.changes == changes && last.comm == comm)
    if (auto found = last.found.lock()) return found;
  const std::shared_lock lock(mutex_);
  const auto found = known_.find(comm);
  if (found == known_.end()) return nullptr;
  if (!is_over) {
    last.among = this, last.changes = changes, last.comm = comm;
    last.found = found->second;
  }
  return found->second;
}

void Communicators::enter(Comm comm, KnownCommunicator known) {
  const std::unique_lock lock(mutex_);
  known_[comm] = std::make_shared<KnownCommunicator>(std::move(known));
  ++changes_;
}

KnownCommunicator Communicators::child_of(Comm comm, int color, std::optional<bool> waits) {
  const std::unique_lock lock(mutex_);
  const auto parent = known_.find(comm);
  if (parent == known_.end()) return {};
  const KnownCommunicator& whole = *parent->second;
  return {.key = communicator_key(fmt::format("{} {} {}", whole.key, splits_[comm]++, color)),
          .waits = waits.value_or(whole.waits),
          .board = whole.board};
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
    const int size = known.size;
    const bool is_on_node = size > 1 && made.announced.on_node().is_complete(size);
    const bool is_complete = is_on_node || (size > 1 && made.announced.is_complete_on_nodes(size));
    known.fate = is_complete || size < 2 ? Fate::communicator : Fate::elsewhere;
    // Other ranks may still look for it.
    if (!is_complete) known.presence = made.announced.on_node();
    enter(comm, known);
    if (known.fate == Fate::elsewhere) complain(why_not_all_met(known));
    if (!is_complete) return;
    known.member = is_on_node ? join(comm, rank, size, made.announced.on_node())
                              : join_nodes(comm, rank, size, made.announced);
    enter(comm, known);
  } catch (const std::exception& error) {
    complain(error.what());
  }
}

std::shared_ptr<Member> Communicators::join(Comm comm, int rank, int size,
                                            const RankPresence& presence) {
  const Inside inside;
  auto bootstrap = bootstrap_by_file(presence.meeting(), rank, size, kTimeout);
  const Seat seat = agreed_seat(comm, *bootstrap, *bootstrap);
  if (rank == 0) presence.forget();
  auto member =
      std::make_shared<NodeMember>(*seat.around, seat.gpu(), std::move(bootstrap), kTimeout);
  begin(comm, *member);
  return member;
}

std::shared_ptr<Member> Communicators::join_nodes(Comm comm, int rank, int size,
                                                  const Announcement& announced) {
  const Inside inside;
  auto all = announced.bootstrap(rank, size);
  const Nodes nodes(all->all_gather(node_name(), kTimeout));
  check_nodes(nodes);
  const int local = nodes.local_rank(rank);
  const auto locals = static_cast<int>(nodes.ranks_on(nodes.of(rank)).size());
  auto in_node = bootstrap_by_file(announced.on_node().meeting(), local, locals, kTimeout);
  const Seat seat = agreed_seat(comm, *in_node, *all);
  if (local == 0) announced.on_node().forget();
  auto member = std::make_shared<NodesMember>(
      *seat.around, seat.gpu(),
      NodesMember::Meeting{.all = std::move(all), .node = std::move(in_node), .nodes = nodes},
      real_, comm, kTimeout);
  begin(comm, *member);
  return member;
}

// NCCL and the member are compared, or have been before.
void Communicators::begin(Comm comm, Member& member) {
  Driver& driver = member.around().driver;
  const Seconds joined = driver.now();
  member.choose_by(choices_.for_member(comm, member));
  member.work_for_ever();
  log(LogLevel::debug,
      fmt::format("a communicator of {} ranks stands beside NCCL's ({}): the comparison took "
                  "{:.0f} ms",
                  member.size(), member.shape(), (driver.now() - joined).value * 1e3));
}

// The GPUs that the ranks of a node see decide on its machine.
Communicators::Seat Communicators::agreed_seat(Comm comm, Bootstrap& in_node,
                                               Bootstrap& all) const {
  Seat seat;
  note_problem(seat.problem, [&] { seat = seat_of(comm); });
  check_at_all_ranks(all, seat.problem, kTimeout);
  note_problem(seat.problem, [&] {
    const auto seen = in_node.all_gather(said_of_gpus(seat.around->names), kTimeout);
    if (gpus_for_ranks(seen) == GpusOf::computer) seat.around = &open_(GpusOf::computer);
  });
  check_at_all_ranks(all, seat.problem, kTimeout);
  return seat;
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

std::shared_ptr<Member> Communicators::forget(Comm comm) noexcept {
  const std::unique_lock lock(mutex_);
  const auto found = known_.find(comm);
  if (found == known_.end()) return nullptr;
  std::shared_ptr<Member> member = found->second->member;
  if (found->second->presence) found->second->presence->forget();
  known_.erase(found), splits_.erase(comm);
  ++changes_;
  return member;
}

std::shared_ptr<Member> Communicators::take_member(Comm comm) noexcept {
  const std::unique_lock lock(mutex_);
  const auto found = known_.find(comm);
  if (found == known_.end() || !found->second->member) return nullptr;
  KnownCommunicator rest = *found->second;
  std::shared_ptr<Member> member = std::exchange(rest.member, nullptr);
  rest.fate = Fate::communicator;
  found->second = std::make_shared<KnownCommunicator>(std::move(rest));
  ++changes_;
  return member;
}

}  // namespace polypath::nccl
