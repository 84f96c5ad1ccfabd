#include "mpi/known_communicators.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "communicator/bootstrap/ranks.h"
#include "core/hash.h"
#include "mpi/aside.h"

namespace polypath::mpi {
namespace {

Result copy_no_attribute(Handle, int, void*, void*, void*, int* copied) {
  *copied = 0;
  return kSuccess;
}

std::uint64_t unique_number() { return Hash().add(unique_name()).value(); }

}  // namespace

struct KnownCommunicators::Seen {
  std::unique_ptr<Member> member;  ///< null: its calls are MPI's
};

thread_local KnownCommunicators::Latest KnownCommunicators::latest;

KnownCommunicators::KnownCommunicators(const Library& library, std::function<void(Member&)> ends)
    : library_(library), ends_(std::move(ends)) {}

KnownCommunicators::~KnownCommunicators() = default;

void KnownCommunicators::begin(Arena& arena, std::vector<std::string> nodes) {
  arena_ = &arena;
  nodes_ = std::move(nodes);
  library_.real.Comm_create_keyval(&copy_no_attribute, &forget_attribute, &keyval_, this);
}

// A member that ends may call MPI, which may come back to forget() for communicators that the
// program has freed before.
void KnownCommunicators::end() noexcept {
  while (const auto member = take_any_member()) {
  }
  streams_.clear();
}

std::unique_ptr<Member> KnownCommunicators::take_any_member() {
  const std::scoped_lock lock(mutex_);
  for (Seen* const each : all_)
    if (each->member != nullptr) return std::move(each->member);
  return nullptr;
}

Result KnownCommunicators::forget_attribute(Handle /*comm*/, int /*keyval*/, void* value,
                                            void* self) {
  static_cast<KnownCommunicators*>(self)->forget(static_cast<Seen*>(value));
  return kSuccess;
}

void KnownCommunicators::forget(Seen* seen) noexcept {
  ++freed_;
  if (seen->member != nullptr) {
    ends_(*seen->member);
    if (seen->member->internode() != nullptr) seen->member->internode()->free_communicators();
  }
  {
    const std::scoped_lock lock(mutex_);
    all_.erase(seen);
  }
  delete seen;  // NOLINT(cppcoreguidelines-owning-memory): MPI has kept it
}

bool KnownCommunicators::is_latest(Handle comm, Member*& member) const {
  if (latest.of != this || latest.comm != comm ||
      latest.freed != freed_.load(std::memory_order_relaxed))
    return false;
  member = latest.seen->member.get();
  return true;
}

// MPI's own answer takes longer than a small call of the host's may.
KnownCommunicators::Seen* KnownCommunicators::seen_if_any(Handle comm) {
  const std::uint64_t freed = freed_.load(std::memory_order_relaxed);
  if (latest.of == this && latest.comm == comm && latest.freed == freed) return latest.seen;
  void* value = nullptr;
  int is_there = 0;
  library_.real.Comm_get_attr(comm, keyval_, static_cast<void*>(&value), &is_there);
  if (is_there == 0) return nullptr;
  latest = {this, comm, freed, static_cast<Seen*>(value)};
  return latest.seen;
}

Member* KnownCommunicators::member_if_any(Handle comm) {
  Seen* const seen = arena_ == nullptr ? nullptr : seen_if_any(comm);
  return seen == nullptr ? nullptr : seen->member.get();
}

Member* KnownCommunicators::member_of(Handle comm) {
  if (arena_ == nullptr) return nullptr;
  if (Seen* const known = seen_if_any(comm)) return known->member.get();
  auto made = look_at(comm);
  Seen* const seen = made.get();
  const std::scoped_lock lock(mutex_);
  library_.real.Comm_set_attr(comm, keyval_, seen);
  all_.insert(made.release());
  return seen->member.get();
}

std::unique_ptr<KnownCommunicators::Seen> KnownCommunicators::look_at(Handle comm) {
  const Functions& real = library_.real;
  auto made = std::make_unique<Seen>();
  int is_inter = 0;
  Seat seat;
  real.Comm_test_inter(comm, &is_inter);
  real.Comm_size(comm, &seat.size);
  real.Comm_rank(comm, &seat.rank);
  if (is_inter != 0 || seat.size < 2) return made;
  std::vector<std::string> nodes;
  for (const int rank : ranks_in_job(comm, seat.size))
    nodes.push_back(nodes_[static_cast<std::size_t>(rank)]);
  if (nodes.size() != static_cast<std::size_t>(seat.size)) return made;
  const bool is_one = std::all_of(nodes.begin(), nodes.end(),
                                  [&](const std::string& node) { return node == nodes.front(); });
  const bool has_threads = !is_one && have_all_threads(comm);
  made->member =
      is_one ? invite(comm, seat) : invite_nodes(comm, seat, nodes, {.has_threads = has_threads});
  if (has_threads && made->member != nullptr)
    made->member->internode()->use(make_aside(comm, seat, nodes));
  return made;
}

std::unique_ptr<Member> KnownCommunicators::invite(Handle comm, Seat seat) {
  if (seat.size > kMostRanks) return nullptr;
  Invitation invitation;
  if (seat.rank == 0) invitation = {.block = arena_->take(), .number = unique_number()};
  library_.real.Bcast(&invitation, sizeof invitation, library_.byte, 0, comm);
  if (invitation.block < 0) return nullptr;
  return std::make_unique<Member>(library_, MemberPlace{.seat = seat, .in_node = seat}, *arena_,
                                  streams_, invitation);
}

// Each node has a block of its own, or none is used.
std::unique_ptr<Member> KnownCommunicators::invite_nodes(Handle comm, Seat seat,
                                                         const std::vector<std::string>& names,
                                                         InternodeTerms terms) {
  auto internode = std::make_unique<InternodeMember>(library_, comm, seat.rank, names, terms);
  const Nodes& nodes = internode->nodes();
  const std::vector<int>& beside = nodes.ranks_on(nodes.of(seat.rank));
  for (int node = 0; node < nodes.count(); ++node)
    if (nodes.ranks_on(node).size() != beside.size()) return nullptr;
  if (beside.size() > kMostRanks) return nullptr;
  const Seat in_node{.rank = nodes.local_rank(seat.rank), .size = static_cast<int>(beside.size())};
  const Count mine = in_node.rank == 0 ? arena_->take() : 0;
  std::vector<Count> all(names.size());
  library_.real.Allgather(&mine, sizeof mine, library_.byte, all.data(), sizeof mine, library_.byte,
                          comm);
  if (std::any_of(all.begin(), all.end(), [](Count block) { return block < 0; })) {
    if (in_node.rank == 0 && mine >= 0) arena_->leave(static_cast<int>(mine), 1);
    return nullptr;
  }
  const Invitation invitation{.block = all[static_cast<std::size_t>(beside.front())]};
  MemberPlace place{.seat = seat, .in_node = in_node, .internode = std::move(internode)};
  return std::make_unique<Member>(library_, std::move(place), *arena_, streams_, invitation);
}

// MPI may have been initialised for other levels of threads at some ranks.
bool KnownCommunicators::have_all_threads(Handle comm) const {
  int mine = library_.has_threads() ? 1 : 0, least = 0;
  library_.real.Allreduce(&mine, &least, 1, library_.integer, library_.minimum, comm);
  return least != 0;
}

// All ranks make it, or none.
std::unique_ptr<Aside> KnownCommunicators::make_aside(Handle comm, Seat seat,
                                                      const std::vector<std::string>& nodes) {
  Handle made = 0;
  if (library_.real.Comm_split(comm, 0, seat.rank, &made) != kSuccess) return nullptr;
  const Handle own = library_.handle(made);
  auto member = invite_nodes(own, seat, nodes,
                             {.polls = Ballot::Polls::from_the_next_on, .has_threads = true});
  if (member != nullptr) return std::make_unique<Aside>(library_, own, std::move(member));
  library_.real.Comm_free(&made);
  return nullptr;
}

// Processes that were started later have a world of their own.
std::vector<int> KnownCommunicators::ranks_in_job(Handle comm, int size) const {
  const Functions& real = library_.real;
  Handle group = 0, world = 0;
  real.Comm_group(comm, &group);
  real.Comm_group(library_.world, &world);
  std::vector<int> own(static_cast<std::size_t>(size)), there(own.size(), -1);
  std::iota(own.begin(), own.end(), 0);
  real.Group_translate_ranks(library_.handle(group), size, own.data(), library_.handle(world),
                             there.data());
  real.Group_free(&group);
  real.Group_free(&world);
  std::erase_if(there,
                [&](int rank) { return rank < 0 || rank >= static_cast<int>(nodes_.size()); });
  return there;
}

}  // namespace polypath::mpi
