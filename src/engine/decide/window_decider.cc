#include "engine/decide/window_decider.h"

namespace polypath::engine {
namespace {

constexpr Bytes kTriedFreely = 16_MiB;  // a native copy takes 4 ms then: an assumption
// Between the 1.4 GB/s (out of a GPU into new memory) and 12 that two H200s have shown
// (results/h200x2/program_ratios_2.json).
constexpr BytesPerSecond kExpectedPageable = 4_GBps;

// At best it is as fast as one of pinned memory.
NativeTime pageable_native_time(const Machine& machine, Bytes bytes, const CopyEnds& ends) {
  const auto hop = machine.find_hop(ends.source, ends.destination);
  return {.at_best = hop ? bytes / machine.hop(*hop).bandwidth : Seconds{},
          .expected = bytes > kTriedFreely ? bytes / kExpectedPageable : Seconds{}};
}

}  // namespace

WindowDecider::WindowDecider(const Machine& machine, const Settings& settings, PlanFinder& plans,
                             const PageableCopies& pageable)
    : machine_(machine),
      settings_(settings),
      plans_(plans),
      pageable_(pageable),
      ways_(static_cast<std::size_t>(settings.plan_cache)) {}

bool WindowDecider::is_possible(const CopyCall& call, const CopyEnds& ends) {
  const auto are = [&](MemoryKind source, MemoryKind destination) {
    return ends.source_kind == source && ends.destination_kind == destination;
  };
  if (!are(MemoryKind::pageable, MemoryKind::device) &&
      !are(MemoryKind::device, MemoryKind::pageable))
    return false;
  if (!ends.let_in(call.stream_gpu) || call.bytes < settings_.pageable_min) return false;
  if (plans_.choice_of(call.options) == Executor::native) return false;
  if (!pageable_.pays()) return false;
  PlanRequest of_a_window = plans_.request_for(call, ends);
  of_a_window.bytes = pageable_.window_of(call.bytes);
  (void)plans_.find(of_a_window);
  return true;
}

void WindowDecider::decide(Decision& decision) {
  decision.means = Method::windows;
  if (!plans_.may_learn(decision.call.options)) return;
  const WayTimes::Advice advice = ways_.suggest(
      decision.kind(), pageable_native_time(machine_, decision.call.bytes, decision.ends));
  if (advice.way == ComparedWay::ours) return;
  decision.means = Method::native;
  decision.learnt = true;
  decision.compared = advice.timed;
}

// Of copies whose way the caller has not chosen.
void WindowDecider::note(const Decision& decision, ComparedWay way, Seconds took) {
  if (plans_.may_learn(decision.call.options)) ways_.note(decision.kind(), way, took);
}

}  // namespace polypath::engine
