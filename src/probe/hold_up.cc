#include "probe/hold_up.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "probe/hop_sets.h"

namespace polypath::probe {
namespace {

constexpr Bytes kSizes[] = {1_MiB, 4_MiB, 16_MiB};
constexpr int kCallsOfThread = 2;         // a copy, and the wait for it
constexpr Seconds kLeastHoldUp = 0.2_us;  // less is what clocks and threads scatter by
constexpr double kMostSpread = 0.15;      // of two threads that start together

using FreePair = std::pair<HopId, HopId>;

// Two hops of two GPUs that do not touch each other.
std::optional<FreePair> free_pair(const Machine& machine) {
  for (std::size_t i = 0; i < machine.hops.size(); ++i)
    for (std::size_t j = i + 1; j < machine.hops.size(); ++j) {
      const HopId a{static_cast<std::int32_t>(i)}, b{static_cast<std::int32_t>(j)};
      if (is_by_gpu(machine.hop(a).kind) && is_by_gpu(machine.hop(b).kind) &&
          machine.executing_gpu(a) != machine.executing_gpu(b) &&
          !share_something(machine.hop(a), machine.hop(b)))
        return FreePair{a, b};
    }
  return std::nullopt;
}

class HoldUp {
 public:
  HoldUp(Workbench& bench, const Sampler& sampler, const FreePair& pair)
      : bench_(bench), sampler_(Sampler(sampler.trust().believing(kMostSpread))), pair_(pair) {}

  Sample of(Bytes bytes) {
    const Driver::Enqueued a = copy_of(pair_.first, bytes, 0), b = copy_of(pair_.second, bytes, 1);
    const Sample both = time({a, b}, bytes), first = time({a}, bytes), second = time({b}, bytes);
    const double more = both.value - std::max(first.value, second.value);
    return {more / kCallsOfThread, std::max({both.spread, first.spread, second.spread})};
  }

 private:
  Driver::Enqueued copy_of(HopId hop, Bytes bytes, int slot) {
    return {bench_.copy_over(hop, bytes, slot * 2, slot * 2 + 1), bench_.stream_of(hop)};
  }
  Sample time(const std::vector<Driver::Enqueued>& copies, Bytes bytes) {
    bench_.settle();
    return sampler_.measure("copies of " + format_bytes(bytes) + " by threads", [&] {
      return steady([&] { return bench_.driver().copy_by_threads(copies).value; });
    });
  }

  Workbench& bench_;
  Sampler sampler_;
  FreePair pair_;
};

}  // namespace

std::optional<Cost> measure_threads_hold_up(Workbench& bench, const Sampler& sampler) {
  const auto pair = free_pair(bench.machine());
  if (!pair) return std::nullopt;
  Cost cost;
  try {
    HoldUp hold_up(bench, sampler, *pair);
    for (const Bytes bytes : kSizes) {
      const Sample sample = hold_up.of(bytes);
      cost.value += Seconds{sample.value / std::size(kSizes)};
      cost.spread = std::max(cost.spread, sample.spread);
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::noisy_machine) throw;
    return std::nullopt;
  }
  return cost.value >= kLeastHoldUp ? std::optional(cost) : std::nullopt;
}

}  // namespace polypath::probe
