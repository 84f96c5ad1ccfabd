#include "mpi/layer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include "communicator/bootstrap/ranks.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/log.h"
#include "mpi/job.h"

namespace polypath::mpi {
namespace {

Result copy_no_attribute(Handle, int, void*, void*, void*, int* copied) {
  *copied = 0;
  return kSuccess;
}

// A memory that this rank has in the call.
bool has_memory(const Library& library, const Side& side) {
  if (side.parts == 0 || side.memory == nullptr || side.memory == library.in_place) return false;
  if (!side.counts.is_there()) return side.count > 0;
  for (int part = 0; part < side.parts; ++part)
    if (side.counts[part] > 0) return true;
  return false;
}

std::uint64_t unique_number() { return Hash().add(unique_name()).value(); }

}  // namespace

struct Layer::Seen {
  Layer* layer;
  std::unique_ptr<Member> member;  ///< null: its calls are MPI's
};

Result Layer::init(bool joins, const std::function<Result()>& make) {
  const std::string job = this_job();
  if (!job.empty()) presence_.emplace("mpi-" + job, getpid(), joins);
  const Result result = make();
  if (result == kSuccess) meet();
  return result;
}

void Layer::meet() {
  int ranks = 0;
  library_.real.Comm_size(library_.world, &ranks);
  if (presence_ && !presence_->is_complete(ranks)) return;
  if (!presence_ && ranks > 1) return;
  if (!share_arena()) arena_.reset();
  int rank = 0;
  library_.real.Comm_rank(library_.world, &rank);
  if (rank == 0 && presence_) presence_->forget();
  if (arena_)
    library_.real.Comm_create_keyval(&copy_no_attribute, &forget_attribute, &keyval_, this);
}

// Rank 0 makes it. All ranks have it, or none uses it.
bool Layer::share_arena() {
  const Functions& real = library_.real;
  int rank = 0, ranks = 0;
  real.Comm_rank(library_.world, &rank);
  real.Comm_size(library_.world, &ranks);
  SharedPages::Name name;
  const auto try_to = [&](auto action) {
    try {
      action();
    } catch (const Error& error) {
      log(LogLevel::info, std::string("MPI's collectives are left to it: ") + error.what());
    }
  };
  if (rank == 0) try_to([&] { name = arena_.emplace(Arena::make()).name(); });
  real.Bcast(&name, sizeof name, library_.byte, 0, library_.world);
  if (rank != 0 && name.file >= 0) try_to([&] { arena_.emplace(Arena::open(name)); });
  const char mine = arena_ ? 1 : 0;
  std::vector<char> have(static_cast<std::size_t>(ranks));
  real.Allgather(&mine, 1, library_.byte, have.data(), 1, library_.byte, library_.world);
  return std::accumulate(have.begin(), have.end(), 0) == ranks;
}

void Layer::finalize() noexcept {
  const std::scoped_lock lock(mutex_);
  for (Seen* const each : all_) each->member.reset();
  if (presence_ && !arena_) presence_->forget();
}

Result Layer::forget_attribute(Handle /*comm*/, int /*keyval*/, void* value, void* layer) {
  static_cast<Layer*>(layer)->forget(static_cast<Seen*>(value));
  return kSuccess;
}

void Layer::forget(Seen* seen) noexcept {
  ++freed_;
  const std::scoped_lock lock(mutex_);
  all_.erase(seen);
  delete seen;  // NOLINT(cppcoreguidelines-owning-memory): MPI has kept it
}

// MPI's own answer takes longer than a small call of the host's may.
Layer::Seen& Layer::seen(Handle comm) {
  struct Last {
    Handle comm = 0;
    std::uint64_t freed = 0;
    Seen* seen = nullptr;
  };
  thread_local Last last;
  const std::uint64_t freed = freed_.load(std::memory_order_relaxed);
  if (last.seen != nullptr && last.comm == comm && last.freed == freed) return *last.seen;
  void* value = nullptr;
  int is_there = 0;
  library_.real.Comm_get_attr(comm, keyval_, &value, &is_there);
  if (is_there == 0) {
    auto made = look_at(comm);
    value = made.get();
    const std::scoped_lock lock(mutex_);
    library_.real.Comm_set_attr(comm, keyval_, value);
    all_.insert(made.release());
  }
  last = {comm, freed, static_cast<Seen*>(value)};
  return *last.seen;
}

std::unique_ptr<Layer::Seen> Layer::look_at(Handle comm) {
  const Functions& real = library_.real;
  auto made = std::make_unique<Seen>(Seen{this, nullptr});
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
    made->member = std::make_unique<Member>(library_, comm, seat, *arena_, invitation);
  return made;
}

// Processes that were started later have a world of their own.
bool Layer::is_of_world(Handle comm, int size) const {
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

std::optional<int> Layer::gpu_of(const Side& side) const {
  return has_memory(library_, side) ? gpu_of_(side.memory) : std::nullopt;
}

Result Layer::collective(const Call& call, const RealCall& real) {
  const auto sent = gpu_of(call.send), received = gpu_of(call.receive);
  const bool is_on_gpu = sent || received;
  Member* const member = arena_ ? seen(call.comm).member.get() : nullptr;
  const auto as_it_is = [&] { return real(call.send.memory, call.receive.memory); };
  if (member == nullptr || !member->why_not().empty())
    return is_on_gpu ? staged(call, Fate::communicator, real) : as_it_is();
  const bool on_host = (!sent && has_memory(library_, call.send)) ||
                       (!received && has_memory(library_, call.receive));
  if (!is_on_gpu) {
    const bool none = !on_host && !is_empty(call);
    if (!member->agree(none ? Buffers::none : Buffers::host)) return as_it_is();
    return run_ours(*member, call, -1, real);
  }
  const int gpu = received.value_or(sent.value_or(-1));
  const bool at_home = member->is_at(gpu) && sent.value_or(gpu) == gpu;
  const bool ours = at_home && !on_host && is_ours(library_, call);
  if (member->agree(ours ? Buffers::ours : Buffers::device))
    return run_ours(*member, call, gpu, real);
  if (!at_home) return staged(call, Fate::other_gpu, real);
  return staged(call, ours ? Fate::mixed : Fate::other_kind, real);
}

Result Layer::run_ours(Member& member, const Call& call, int gpu, const RealCall& real) {
  try {
    if (member.run(call, gpu, open_())) {
      counts_.count(call.operation, Fate::ours);
      return kSuccess;
    }
    log(LogLevel::info, "MPI's collectives of a communicator are left to it: " + member.why_not());
  } catch (const Error& error) {
    log(LogLevel::error, fmt::format("MPI {}: {}", name_of(call.operation), error.what()));
    return library_.real.Comm_call_errhandler(call.comm, library_.other_error);
  }
  return gpu < 0 ? real(call.send.memory, call.receive.memory)
                 : staged(call, Fate::communicator, real);
}

Result Layer::staged(const Call& call, Fate fate, const RealCall& real) {
  counts_.count(call.operation, fate);
  try {
    return run_staged(library_, open_(), call, gpu_of_, real);
  } catch (const Error& error) {
    log(LogLevel::error, fmt::format("MPI {}: {}", name_of(call.operation), error.what()));
    return library_.real.Comm_call_errhandler(call.comm, library_.other_error);
  }
}

}  // namespace polypath::mpi
