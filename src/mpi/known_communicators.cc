#include "mpi/known_communicators.h"

#include <numeric>
#include <utility>
#include <vector>

#include "communicator/bootstrap/ranks.h"
#include "core/hash.h"

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

void KnownCommunicators::begin(Arena& arena) {
  arena_ = &arena;
  library_.real.Comm_create_keyval(&copy_no_attribute, &forget_attribute, &keyval_, this);
}

void KnownCommunicators::end() noexcept {
  const std::scoped_lock lock(mutex_);
  for (Seen* const each : all_) each->member.reset();
  streams_.clear();
}

Result KnownCommunicators::forget_attribute(Handle /*comm*/, int /*keyval*/, void* value,
                                            void* self) {
  static_cast<KnownCommunicators*>(self)->forget(static_cast<Seen*>(value));
  return kSuccess;
}

void KnownCommunicators::forget(Seen* seen) noexcept {
  ++freed_;
  if (seen->member != nullptr) ends_(*seen->member);
  const std::scoped_lock lock(mutex_);
  all_.erase(seen);
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
  if (is_inter != 0 || seat.size < 2 || seat.size > kMostRanks || !is_of_world(comm, seat.size))
    return made;
  Invitation invitation;
  if (seat.rank == 0) invitation = {.block = arena_->take(), .number = unique_number()};
  real.Bcast(&invitation, sizeof invitation, library_.byte, 0, comm);
  if (invitation.block >= 0)
    made->member = std::make_unique<Member>(library_, seat, *arena_, streams_, invitation);
  return made;
}

// Processes that were started later have a world of their own.
bool KnownCommunicators::is_of_world(Handle comm, int size) const {
  const Functions& real = library_.real;
  int ranks = 0;
  real.Comm_size(library_.world, &ranks);
  Handle group = 0, world = 0;
  real.Comm_group(comm, &group);
  real.Comm_group(library_.world, &world);
  std::vector<int> own(static_cast<std::size_t>(size)), there(own.size(), -1);
  std::iota(own.begin(), own.end(), 0);
  real.Group_translate_ranks(library_.handle(group), size, own.data(), library_.handle(world),
                             there.data());
  real.Group_free(&group);
  real.Group_free(&world);
  for (const int rank : there)
    if (rank < 0 || rank >= ranks) return false;
  return true;
}

}  // namespace polypath::mpi
