#include "api/preload/session_start.h"

#include <chrono>

#include "api/preload/busy.h"
#include "api/preload/real_driver.h"
#include "api/preload/session.h"
#include "core/cpus.h"
#include "engine/prepare/preparation_budget.h"
#include "machine/driver_behaviour.h"

namespace polypath::preload {
namespace {

// A thread that starts costs allocations 1.2 ms, and NVML asked from it another (of 39.5 ms, 32
// allocations and copies of 64 MiB; two H200s, results/h200x2/first_pinned.json). So that waits
// until the program does not allocate, but no longer than kLongestWait.
constexpr Seconds kLongestWait = 500'000_us, kLook = 5'000_us;

constexpr const char* kCouldNotStart = "it could not start";

Seconds now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration<double>(since).count()};
}

}  // namespace

Bytes SessionStart::begin_below() const { return settings_.min_message.value_or(kAlwaysPlanned); }

void SessionStart::begin_for(const ProgramCopy& copy) noexcept {
  const bool pageable = is_pageable(copy.source) || is_pageable(copy.destination);
  begin(pageable ? Beginning::at_once_with_windows : Beginning::beside_no_allocations);
}

// For copies of pageable memory it pays to begin beside allocations where there are CPUs enough for
// windows, by which 256 MiB take a sixth of the time (results/h100x2/windows.json).
bool SessionStart::has_windows(const CpuSet& cpus) const {
  return settings_.copy_threads > 0 || cpus.threads() >= DriverBehaviour{}.windows_threads_least;
}

// In the program's thread as little as can be: to read how many CPUs its container may use takes 1
// ms (results/first_copy.json).
void SessionStart::begin(Beginning when) noexcept {
  if (begun_.exchange(true)) return;
  try {
    if (settings_.prepare == "now") return make_session();
    background_.post([this, when, cpus = CpuSet::of_caller()] {
      const Busy guard;
      if (may_begin(when, cpus)) make_session();
    });
  } catch (const std::exception& error) {
    gate_.turn_off(error.what(), kCouldNotStart);
  }
}

bool SessionStart::may_begin(Beginning when, const CpuSet& cpus) {
  if (when == Beginning::at_once) return true;
  if (when == Beginning::at_once_with_windows && has_windows(cpus)) return true;
  return waits_for_allocations();
}

// In the background. False if the program ends meanwhile.
bool SessionStart::waits_for_allocations() {
  const Seconds begin = now();
  const auto goes_on = [&] {
    const Seconds last{last_allocation_.load(std::memory_order_relaxed)};
    return now() - last < kStillAllocates && now() - begin < kLongestWait;
  };
  while (goes_on())
    if (!background_.pause(kLook)) return false;
  return true;
}

void SessionStart::make_session() noexcept {
  try {
    auto* session = new Session(settings_);
    session_.store(session, std::memory_order_release);
    gate_.pass_below(begin_below(), session->smallest_planned());
    for (const EarlyCopies& copies : early_.take()) session->natives().count_early(copies);
  } catch (const std::exception& error) {
    gate_.turn_off(error.what(), kCouldNotStart);
  }
}

void SessionStart::note_allocation() noexcept {
  last_allocation_.store(now().value, std::memory_order_relaxed);
}

void SessionStart::stop_preparing() noexcept {
  background_.stop();
  if (Session* made = session()) made->stop_preparing();
}

}  // namespace polypath::preload
