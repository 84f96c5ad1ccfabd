#include "api/preload/session_uses.h"

#include "core/ignore_errors.h"

namespace polypath::preload {
namespace {

// How long an allocation that finds no room waits for copies in flight: some
// GiB.
constexpr Seconds kMemoryTimeout = 100'000_us;
// And what has been idle for long: a moment that it may take to be seen.
constexpr Seconds kIdleTimeout = 10'000_us;

}  // namespace

SessionUses::SessionUses(const Settings& settings, cuda::CudaDriver& driver, Engine& engine)
    : settings_(settings), driver_(driver), engine_(engine), queued_(driver) {
  if (settings_.give_back_after > 0) watcher_.start();
}

void SessionUses::note_staging() {
  last_use_.store(driver_.now().value, std::memory_order_relaxed);
  if (settings_.give_back_after == 0 || watched_.exchange(true)) return;
  watcher_.post([this] { give_back_when_idle(); });
}

// In the background. After a reset of a GPU, its memory and streams are gone.
void SessionUses::give_back_when_idle() noexcept {
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

bool SessionUses::release() noexcept {
  return driver_.contexts().are_alive() && engine_.release_memory(kMemoryTimeout);
}

// The copy has been made by now: if there can be no event for it, it is waited
// for at once.
void SessionUses::note_queued(const CopyCall& call, const std::vector<ProgramEnds>& all) {
  std::vector<MemoryInfo> used;
  for (const ProgramEnds& ends : all)
    for (const ProgramEnd& end : {ends.source, ends.destination})
      if (end.memory.kind != MemoryKind::pageable) used.push_back(end.memory);
  if (!ignore_errors([&] { queued_.note(used, call.stream, call.stream_gpu); }))
    ignore_errors([&] { driver_.synchronize(call.stream); });
}

void SessionUses::wait_for(Address address) noexcept {
  if (queued_.may_be_used(address) && driver_.contexts().are_alive()) queued_.wait_for(address);
}

}  // namespace polypath::preload
