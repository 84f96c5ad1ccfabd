#include "probe/call_costs.h"

#include <functional>

namespace polypath::probe {
namespace {

constexpr int kCallsInARow = 64;
constexpr Bytes kSmallCopy = 64_KiB;
// The copy that keeps a stream busy while calls are timed.
constexpr Bytes kBusy = 64_MiB;

Seconds time_of(Driver& driver, const std::function<void()>& calls) {
  const Seconds start = driver.now();
  calls();
  return driver.now() - start;
}

Cost cost_of(const Sample& sample) { return {{sample.value}, sample.spread}; }

// The first hop of every kind there is.
std::vector<HopId> kinds_of_hops(const Machine& machine) {
  std::map<HopKind, HopId> first;
  for (std::size_t i = 0; i < machine.hops.size(); ++i)
    first.emplace(machine.hops[i].kind, HopId{static_cast<std::int32_t>(i)});
  std::vector<HopId> hops;
  for (const auto& [kind, hop] : first) hops.push_back(hop);
  return hops;
}

// Kinds of hops differ a little in what issuing costs; a machine has one number for all.
Cost measure_copy(Workbench& bench, const Sampler& sampler) {
  const std::vector<HopId> hops = kinds_of_hops(bench.machine());
  const int calls = kCallsInARow / static_cast<int>(hops.size());
  const auto once = [&] {
    std::vector<std::pair<CopyRequest, StreamHandle>> copies;
    for (const HopId hop : hops)
      copies.emplace_back(bench.copy_over(hop, kSmallCopy), bench.stream_of(hop));
    const Seconds time = time_of(bench.driver(), [&] {
      for (const auto& [request, stream] : copies)
        for (int i = 0; i < calls; ++i) bench.driver().copy(request, stream);
    });
    bench.settle();
    return time.value / (calls * static_cast<double>(hops.size()));
  };
  return cost_of(sampler.measure("issuing a copy", [&] { return steady(once); }));
}

Cost measure_record(Workbench& bench, const Sampler& sampler, const HopPair& pair) {
  const PlaceId gpu = bench.machine().executing_gpu(pair.first);
  const auto once = [&] {
    const StreamHandle stream = bench.stream(gpu);
    const EventHandle event = bench.event(gpu);
    bench.driver().copy(bench.copy_over(pair.first, kBusy), stream);
    const Seconds time = time_of(bench.driver(), [&] {
      for (int i = 0; i < kCallsInARow; ++i) bench.driver().record(event, stream);
    });
    bench.settle();
    return time.value / kCallsInARow;
  };
  return cost_of(sampler.measure("recording an event", [&] { return steady(once); }));
}

// The event belongs to a stream that is busy: a driver may do nothing for an event that has
// happened.
Cost measure_wait(Workbench& bench, const Sampler& sampler, const HopPair& pair) {
  const PlaceId gpu = bench.machine().executing_gpu(pair.first);
  const auto once = [&] {
    const StreamHandle busy = bench.stream(gpu);
    const StreamHandle waiting = bench.stream_of(pair.second, 1);
    const EventHandle event = bench.event(gpu);
    bench.driver().copy(bench.copy_over(pair.first, kBusy), busy);
    bench.driver().record(event, busy);
    const Seconds time = time_of(bench.driver(), [&] {
      for (int i = 0; i < kCallsInARow; ++i) bench.driver().wait(waiting, event);
    });
    bench.settle();
    return time.value / kCallsInARow;
  };
  return cost_of(sampler.measure("waiting for an event", [&] { return steady(once); }));
}

}  // namespace

HopPair staged_pair(const Machine& machine) {
  HopPair pair{{0}, {0}};
  bool found = false;
  for (std::size_t i = 0; i < machine.hops.size(); ++i)
    for (std::size_t j = 0; j < machine.hops.size(); ++j) {
      const HopId first{static_cast<std::int32_t>(i)}, second{static_cast<std::int32_t>(j)};
      if (machine.hop(first).destination != machine.hop(second).source) continue;
      if (machine.executing_gpu(first) != machine.executing_gpu(second)) return {first, second};
      if (!found) pair = {first, second};
      found = true;
    }
  return pair;
}

StreamCosts measure_stream_costs(Workbench& bench, const Sampler& sampler) {
  const HopPair pair = staged_pair(bench.machine());
  const Sampler calls(sampler.trust().believing(sampler.trust().most_call_spread));
  return {measure_copy(bench, calls), measure_record(bench, calls, pair),
          measure_wait(bench, calls, pair)};
}

}  // namespace polypath::probe
