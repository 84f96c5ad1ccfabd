#include "driver/trace/gpu_clocks.h"

#include <utility>

#include "core/ignore_errors.h"

namespace polypath::trace {
namespace {

// CUDA's elapsed times are floats of milliseconds: within a second they are good to 0.06 us, and
// two clocks differ by less than a reading is worth.
constexpr Seconds kLasts = 1'000'000_us;
// A slower reading is useless, and no thread may be kept waiting.
constexpr Seconds kTimeout = 1'000_us;
// A reading that took so much longer than the best so far is not believed.
constexpr double kClearlyWorse = 4;
constexpr int kReadings = 3;

}  // namespace

GpuClocks::Clock& GpuClocks::clock_of(PlaceId gpu) {
  Clock& clock = clocks_[gpu];
  if (clock.stream.value == 0) clock.stream = driver_.create_stream(gpu);
  for (EventHandle* event : {&clock.now, &clock.then})
    if (event->value == 0) *event = driver_.create_timing_event(gpu);
  return clock;
}

void GpuClocks::set(Clock& clock) {
  if (clock.is_asked && !driver_.is_done(clock.now)) return;
  const Seconds before = driver_.now();
  driver_.record(clock.now, clock.stream);
  bool done = false;
  Seconds after = before;
  do {
    done = driver_.is_done(clock.now);
    after = driver_.now();
  } while (!done && after - before < kTimeout);
  clock.is_asked = !done;
  const Seconds within = (after - before) * 0.5;
  const bool is_fresh = clock.is_set && before - clock.at < kLasts;
  if (!done || (is_fresh && within >= clock.within)) return;
  if (clock.is_set && !is_fresh && within > clock.within * kClearlyWorse) return;
  std::swap(clock.now, clock.then);
  clock.at = before + within;
  clock.within = within;
  clock.is_set = true;
}

std::optional<Seconds> GpuClocks::time_of(PlaceId gpu, EventHandle event) {
  Clock& clock = clock_of(gpu);
  if (!clock.is_set || driver_.now() - clock.at >= kLasts)
    for (int reading = 0; reading < kReadings; ++reading) set(clock);
  if (!clock.is_set) return std::nullopt;
  const std::optional<Seconds> since = driver_.elapsed(clock.then, event);
  if (!since) return std::nullopt;
  return clock.at + *since;
}

void GpuClocks::clear() noexcept {
  for (const auto& entry : clocks_) {
    const Clock& clock = entry.second;
    for (const EventHandle event : {clock.now, clock.then})
      if (event.value != 0) ignore_errors([&] { driver_.destroy_event(event); });
    if (clock.stream.value != 0) ignore_errors([&] { driver_.destroy_stream(clock.stream); });
  }
  clocks_.clear();
}

}  // namespace polypath::trace
