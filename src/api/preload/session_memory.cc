// Resolves the ends of a copy and what is known of its plan: whether it may use several paths at
// all. Also decides when the memory that this takes is given back.

#include <utility>

#include "api/preload/session.h"
#include "core/log.h"

namespace polypath::preload {
namespace {

// How long an allocation that finds no room waits for copies in flight: some GiB.
constexpr Seconds kMemoryTimeout = 100'000_us;
// And what has been idle for long: a moment that it may take to be seen.
constexpr Seconds kIdleTimeout = 10'000_us;

bool holds(const MemoryInfo& memory, Address address, Bytes bytes) {
  return bytes.value <= memory.base.value + memory.size.value - address.value;
}

}  // namespace

// A context of the program's own ends without notice, and so do the mappings in it.
std::optional<Outcome> Session::look_at(Address address, Bytes bytes, End& end) {
  driver_.imports().forget_ended(address, bytes);
  const auto imported = driver_.imports().find(address);
  if (imported &&
      (imported->owner == cuda::kOwnerUnknown || !driver_.contexts().gpu_of(imported->context)))
    return Outcome::owner_unknown;
  if (imported && imported->owner < 0) return Outcome::owner_hidden;
  if (imported && !driver_.imports().mappable(address)) return Outcome::unmappable;
  cuda::MemoryAccess access;
  const auto found = driver_.find_memory(address, &access);
  if (!found) return Outcome::unknown_memory;
  end = {*found, imported.has_value()};
  if (found->kind == MemoryKind::managed) return Outcome::managed;
  if (end.imported || !end.is_device()) return std::nullopt;
  return look_at_access(access, found->place);
}

// Memory from pools and of virtual addresses is open only to the GPUs that it has been opened to.
// Every GPU with peer access reaches what cuMemAlloc has allocated in a primary context: that alone
// CUDA lets processes share by handles of the old kind, by which it is told apart.
std::optional<Outcome> Session::look_at_access(const cuda::MemoryAccess& access, PlaceId gpu) {
  if (!access.shareable) return Outcome::own_access;
  // Only of GPUs with a primary context already: asking for the GPU's own would make one.
  const bool primary = access.context != nullptr && driver_.contexts().gpu_of(access.context);
  if (primary && access.context == context_of(gpu)) return std::nullopt;
  return Outcome::other_context;
}

void Session::note_use() {
  last_use_.store(driver_.now().value, std::memory_order_relaxed);
  if (settings_.give_back_after == 0 || watched_.exchange(true)) return;
  watcher_.post([this] { give_back_when_idle(); });
}

// In the background. After a reset of a GPU, its memory and streams are gone.
void Session::give_back_when_idle() noexcept {
  const Seconds after{settings_.give_back_after};
  do {
    Seconds left = after;
    while (left > Seconds{}) {
      if (!watcher_.pause(left)) return;
      left = after - (driver_.now() - Seconds{last_use_.load()});
    }
    watched_.store(false);  // a copy from here on starts the wait anew
    if (!driver_.contexts().are_alive()) return;
    (void)engine_.give_back(kIdleTimeout);
  } while (engine_.has_staging() && !watched_.exchange(true));
}

bool Session::release_memory() noexcept {
  return driver_.contexts().are_alive() && engine_.release_memory(kMemoryTimeout);
}

// The copy has been made by now: if there can be no event for it, it is waited for at once.
void Session::note_queued(const CopyCall& call, const std::vector<Ends>& all) {
  std::vector<MemoryInfo> used;
  for (const Ends& ends : all)
    for (const End& end : {ends.source, ends.destination})
      if (end.memory.kind != MemoryKind::pageable) used.push_back(end.memory);
  if (!ignore_errors([&] { queued_.note(used, call.stream, call.stream_gpu); }))
    ignore_errors([&] { driver_.synchronize(call.stream); });
}

void Session::wait_for_copies_of(Address address) noexcept {
  if (queued_.may_be_used(address) && driver_.contexts().are_alive()) queued_.wait_for(address);
}

std::optional<Outcome> Session::resolve_memory(const ProgramCopy& asked, Ends& ends) {
  if (const auto against = look_at(asked.destination, asked.bytes, ends.destination))
    return against;
  if (const auto against = look_at(asked.source, asked.bytes, ends.source)) return against;
  if (ends.destination.memory.place == ends.source.memory.place) return Outcome::same_memory;
  if (!ends.destination.is_device() && !ends.source.is_device()) return Outcome::same_memory;
  if (ends.pageable() && asked.bytes < settings_.pageable_min) return Outcome::pageable;
  if (ends.pageable() && !engine_.windows_pay()) return Outcome::few_cpus;
  if (!holds(ends.destination.memory, asked.destination, asked.bytes) ||
      !holds(ends.source.memory, asked.source, asked.bytes))
    return Outcome::unknown_memory;
  return std::nullopt;
}

// Before anything is enqueued: mapping takes milliseconds, and may fail.
std::optional<Outcome> Session::look_at_imports(const Question& question) {
  const auto& [asked, stream_gpu, ends, decision] = question;
  if (!ends.imported() || !decision.plan) return std::nullopt;
  Missing missing;
  const auto look = [&](const End& end, Address address, HopId hop) {
    if (!end.imported) return;
    const PlaceId gpu = opened_.machine().executing_gpu(hop);
    // A context that is not there yet is made with the rest of what the plan needs.
    if (background_ && !driver_.contexts().has(number_of(gpu))) return;
    const cuda::ContextPointer context = driver_.contexts().ours(number_of(gpu));
    if (!driver_.imports().is_reached(address, context)) missing.emplace_back(address, context);
  };
  try {
    for (const PathShape& part : decision.plan->shape.paths) {
      const bool in_program_stream = !part.path.staged() && !ends.between_gpus();
      if (in_program_stream) continue;
      look(ends.source, asked.source, part.path.first);
      look(ends.destination, asked.destination,
           part.path.staged() ? part.path.second : part.path.first);
    }
    if (missing.empty()) return std::nullopt;
    if (background_) return map_in_background(missing);
    for (const auto& [address, context] : missing) (void)driver_.imports().reach(address, context);
    return std::nullopt;
  } catch (const Error& error) {
    log(LogLevel::warning, error.what());
    return Outcome::unmappable;
  }
}

Outcome Session::map_in_background(const Missing& missing) {
  for (const auto& one : missing) {
    const std::scoped_lock lock(mapping_mutex_);
    if (!mapping_.insert(one).second) continue;
    background_->post([this, one] {
      ignore_errors([&] { (void)driver_.imports().reach(one.first, one.second); });
      const std::scoped_lock done(mapping_mutex_);
      mapping_.erase(one);
    });
  }
  return Outcome::preparing;
}

}  // namespace polypath::preload
