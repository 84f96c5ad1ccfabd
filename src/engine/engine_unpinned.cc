// Copies with pageable or managed memory at an end.

#include <fmt/format.h>

#include "core/log.h"
#include "engine/engine.h"

namespace polypath {

// With pageable or managed memory at an end the driver may block, so that no lock is held.
CopyResult Engine::unpinned_copy(const CopyCall& call, const CopyEnds& ends) {
  const bool wanted = goes_by_windows(call, ends);
  const bool by_windows = wanted && has_windows(ends);
  std::optional<CopyResult> done;
  try {
    if (by_windows) done = pageable_.copy(call, ends);
    if (!done) native_copy(call, ends);
  } catch (const Error&) {
    count_unpinned(call, statistics_.errors);
    throw;
  }
  std::uint64_t& otherwise = by_windows ? statistics_.fallbacks : statistics_.native;
  count_unpinned(call, done ? statistics_.pageable : otherwise);
  if (!wanted && call.bytes < settings_.min_message) {
    const std::scoped_lock lock(mutex_);
    familiar_.remember_small(call, true);
  }
  const Obstacle obstacle = !wanted      ? Obstacle::none
                            : by_windows ? Obstacle::failed
                                         : Obstacle::preparing;
  return done.value_or(CopyResult{Executor::native, nullptr, call.native_by_caller, obstacle});
}

// True if windows are there, or may be made in this call.
bool Engine::has_windows(const CopyEnds& ends) {
  if (!background_ || pageable_.is_prepared(ends)) return true;
  if (preparing_windows_.exchange(true)) return false;
  background_->post([this, ends] {
    try {
      pageable_.prepare(ends);
      preparing_windows_ = false;
    } catch (const std::exception& error) {  // and not tried again
      log(LogLevel::warning, fmt::format("no pinned windows: {}", error.what()));
    }
  });
  return false;
}

bool Engine::goes_by_windows(const CopyCall& call, const CopyEnds& ends) {
  const auto are = [&](MemoryKind source, MemoryKind destination) {
    return ends.source_kind == source && ends.destination_kind == destination;
  };
  if (!are(MemoryKind::pageable, MemoryKind::device) &&
      !are(MemoryKind::device, MemoryKind::pageable))
    return false;
  if (call.bytes < settings_.pageable_min) return false;
  if (choice_of(call.options) == ExecutorChoice::native) return false;
  if (is_captured(call) || !pageable_.pays()) return false;
  // Options that cannot be used are refused now, before anything is enqueued.
  (void)known_plan(ends.source, ends.destination, pageable_.window_of(call.bytes), call.options);
  return true;
}

// Counted with the copy that it is a part of.
CopyResult Engine::send_window(const CopyCall& call, const CopyEnds& ends) {
  const std::scoped_lock lock(mutex_);
  if (call.bytes < settings_.min_message && !call.options.forced()) {
    native_copy(call, ends);
    return {};
  }
  const Seconds now = driver_.now();
  return enqueue(call, ends, plan_beside(call, ends, now), now);
}

void Engine::count_unpinned(const CopyCall& call, std::uint64_t& outcome) {
  const std::scoped_lock lock(mutex_);
  count_asked(call);
  ++outcome;
}

}  // namespace polypath
