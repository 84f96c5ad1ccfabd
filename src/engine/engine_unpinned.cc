// Copies with pageable or managed memory at an end.

#include <fmt/format.h>

#include "core/ignore_errors.h"
#include "core/log.h"
#include "engine/engine.h"

namespace polypath {
namespace {

constexpr Bytes kTriedFreely = 16_MiB;  // a native copy takes 4 ms then: an assumption
// Between the 1.4 GB/s (out of a GPU into new memory) and 12 that two H200s have shown
// (results/h200x2/program_ratios_2.json).
constexpr BytesPerSecond kExpectedPageable = 4_GBps;

Seconds gain_by_windows(const DriverBehaviour& driver, Bytes bytes, const CopyEnds& ends) {
  const bool inward = ends.source_kind == MemoryKind::pageable;
  return bytes / (inward ? driver.windows_gain_in : driver.windows_gain_out);
}

// The setting scales all costs of preparing; its default stands for what was measured.
Seconds windows_cost(const DriverBehaviour& driver, const Settings& settings) {
  return driver.windows_cost *
         (static_cast<double>(settings.prepare_after) / Settings{}.prepare_after);
}

// At best it is as fast as one of pinned memory.
NativeTime pageable_native_time(const Machine& machine, Bytes bytes, const CopyEnds& ends) {
  const auto hop = machine.find_hop(ends.source, ends.destination);
  return {.at_best = hop ? bytes / machine.hop(*hop).bandwidth : Seconds{},
          .expected = bytes > kTriedFreely ? bytes / kExpectedPageable : Seconds{}};
}

// Into a GPU the call returns while the last window is on its way; the driver leaves next to
// nothing behind.
Seconds last_window_in(const Machine& machine, const PageableCopies& pageable,
                       const Decision& decision) {
  const CopyEnds& ends = decision.ends;
  if (ends.source_kind != MemoryKind::pageable) return {};
  const auto hop = machine.find_hop(ends.source, ends.destination);
  return hop ? pageable.window_of(decision.call.bytes) / machine.hop(*hop).bandwidth : Seconds{};
}

}  // namespace

// Through windows, if that was decided and they are there.
CopyResult Engine::attempt_windows(const Decision& decision) {
  if (decision.means != Method::windows) return {};
  if (!has_windows(decision))
    return {.obstacle = FallbackReason::preparing,
            .missed = gain_by_windows(machine_.driver, decision.call.bytes, decision.ends) *
                      (1.0 + decision.call.unasked)};
  std::optional<PageableCopies::Copied> done = pageable_.copy(decision.call, decision.ends);
  if (!done) return {.obstacle = FallbackReason::failed};
  note_pageable(decision, ComparedWay::ours,
                done->took + last_window_in(machine_, pageable_, decision));
  done->last_window.means = Method::windows;
  return std::move(done->last_window);
}

// The driver's own copy, where that is faster: see WayTimes.
void Engine::choose_windows(Decision& decision) {
  decision.means = Method::windows;
  if (!may_learn(decision.call)) return;
  const WayTimes::Advice advice = compared_.pageable.suggest(
      kind_of(decision), pageable_native_time(machine_, decision.call.bytes, decision.ends));
  if (advice.way == ComparedWay::ours) return;
  decision.means = Method::native;
  decision.learnt = true;
  decision.compared = advice.timed;
}

// Made here although the caller would have, because it is timed; not where that cannot be done.
CopyResult Engine::native_for_comparison(const Decision& decision) {
  if (!ignore_errors([&] { pageable_.wait_for_earlier_work(decision.call); }))
    return {.obstacle = FallbackReason::failed};
  const Seconds begin = driver_.now();
  native_copy(decision, NativeCopyBy::engine);
  note_pageable(decision, ComparedWay::native, driver_.now() - begin);
  return {.made_here = true};
}

// Of copies whose way the caller has not chosen.
void Engine::note_pageable(const Decision& decision, ComparedWay way, Seconds took) {
  if (!may_learn(decision.call)) return;
  const std::scoped_lock lock(mutex_);
  compared_.pageable.note(kind_of(decision), way, took);
}

// True if windows are there, or have been made in this call: few at first, all of them when copies
// have gained their cost. Windows made beside the driver's own pageable copies wait for those
// copies, and the copies for them: for up to a second copies took a tenth longer. So a copy that
// gains the cost of the first windows makes them itself; small copies do when together they would
// have gained it.
bool Engine::has_windows(const Decision& decision) {
  const CopyEnds& ends = decision.ends;
  if (!background_ || pageable_.is_prepared(ends, WindowsMade::all)) return true;
  const bool has_few = pageable_.is_prepared(ends, WindowsMade::few);
  const WindowsMade wanted = has_few ? WindowsMade::all : WindowsMade::few;
  const Seconds gain = gain_by_windows(machine_.driver, decision.call.bytes, ends);
  const Seconds cost = windows_cost(machine_.driver, settings_) * pageable_.share_of(wanted);
  {
    const std::scoped_lock lock(mutex_);
    missed_by_windows_ += gain * (1 + decision.call.unasked);
    if (missed_by_windows_ < cost || preparing_windows_.exchange(true)) return has_few;
    missed_by_windows_ = {};
  }
  if (!has_few && gain >= cost) return make_windows(ends, wanted);
  maker_->post([=, this] { (void)make_windows(ends, wanted); });
  return has_few;
}

// Where they cannot be made it is not tried again.
bool Engine::make_windows(const CopyEnds& ends, WindowsMade wanted) noexcept {
  try {
    pageable_.prepare(ends, wanted);
    preparing_windows_ = false;
    return true;
  } catch (const std::exception& error) {
    log(LogLevel::warning, fmt::format("no pinned windows: {}", error.what()));
    return false;
  }
}

bool Engine::goes_by_windows(const CopyCall& call, const CopyEnds& ends) {
  const auto are = [&](MemoryKind source, MemoryKind destination) {
    return ends.source_kind == source && ends.destination_kind == destination;
  };
  if (!are(MemoryKind::pageable, MemoryKind::device) &&
      !are(MemoryKind::device, MemoryKind::pageable))
    return false;
  if (ends.closed || call.bytes < settings_.pageable_min) return false;
  if (choice_of(call.options) == Executor::native) return false;
  if (!pageable_.pays()) return false;
  // Options that cannot be used are refused now, before anything is enqueued.
  (void)plan_for(
      {ends.source, ends.destination, pageable_.window_of(call.bytes), complete(call.options)});
  return true;
}

// Counted with the copy that it is a part of. Copies out of a GPU are put into the program's
// stream: in a stream of ours they would wait for relays that pull
// (results/h100x4/own_contexts.json). The lock is held from the choice of the stream to the event:
// work that may be held comes into the engine's streams under the same lock.
PageableCopies::Sent Engine::send_window(PageableCopies::WindowCall sent) {
  const std::scoped_lock lock(mutex_);
  CopyCall& call = sent.call;
  const bool outward = sent.ends.destination_kind == MemoryKind::pinned;
  if (outward || lanes_.any_held_beside(call.stream))
    call.stream = sent.callers, call.stream_gpu = sent.callers_gpu;
  Decision decision{.call = call,
                    .ends = sent.ends,
                    .native_threshold = native_threshold(call, sent.ends),
                    .means = Method::native};
  if (!decision.below_threshold()) plan_beside_others(decision);
  const CopyResult result = attempt(decision);
  if (result.means == Method::native) native_copy(decision, NativeCopyBy::engine);
  else count_staged(*result.plan);
  note_load(decision);
  const EventHandle done = sent.done.on(call.stream_gpu);
  driver_.record(done, call.stream);
  return {result, done};
}

}  // namespace polypath
