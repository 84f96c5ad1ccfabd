#include "probe/staging.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/text.h"
#include "probe/fit.h"

namespace polypath::probe {
namespace {

constexpr int kFewRounds = 2;
constexpr int kMoreRounds = 24;
// A round must take this many times as long as its calls, so that the streams are never idle.
constexpr double kClearlyLonger = 2;

HopId id_of(std::size_t index) { return {static_cast<std::int32_t>(index)}; }

// The hop into the source of `out` to relay from: of another GPU if there is one.
std::optional<HopId> feeding(const Machine& machine, HopId out) {
  std::optional<HopId> found;
  for (std::size_t i = 0; i < machine.hops.size(); ++i) {
    if (machine.hops[i].destination != machine.hop(out).source) continue;
    if (machine.executing_gpu(id_of(i)) != machine.executing_gpu(out)) return id_of(i);
    if (!found) found = id_of(i);
  }
  return found;
}

class RelayMeasurement {
 public:
  RelayMeasurement(Workbench& bench, const Sampler& sampler, const HopPair& pair, Bytes bytes)
      : bench_(bench), sampler_(sampler), pair_(pair), bytes_(bytes) {}

  Sample round();

 private:
  Seconds rounds(int count);
  void turn(HopId hop, int stream, HopId next, int next_stream, int source, int destination);

  Workbench& bench_;
  const Sampler& sampler_;
  HopPair pair_;
  Bytes bytes_;
};

// One copy, after which the other stream may go on.
void RelayMeasurement::turn(HopId hop, int stream, HopId next, int next_stream, int source,
                            int destination) {
  const StreamHandle here = bench_.stream_of(hop, stream);
  const EventHandle arrived = bench_.event(bench_.machine().executing_gpu(hop), stream);
  bench_.driver().copy(bench_.copy_over(hop, bytes_, source, destination), here);
  bench_.driver().record(arrived, here);
  bench_.driver().wait(bench_.stream_of(next, next_stream), arrived);
}

Seconds RelayMeasurement::rounds(int count) {
  Driver& driver = bench_.driver();
  const Seconds start = driver.now();
  for (int i = 0; i < count; ++i) {
    turn(pair_.first, 0, pair_.second, 1, 0, 1);
    turn(pair_.second, 1, pair_.first, 0, 1, 2);
  }
  driver.synchronize(bench_.stream_of(pair_.first, 0));
  return driver.now() - start;
}

Sample RelayMeasurement::round() {
  const Machine& machine = bench_.machine();
  const std::string what =
      fmt::format("copies in turn over {} and {}", hop_name(machine, pair_.first),
                  hop_name(machine, pair_.second));
  const auto once = [&] {
    const Seconds few = rounds(kFewRounds);
    return (rounds(kFewRounds + kMoreRounds) - few).value / kMoreRounds;
  };
  return sampler_.measure(what, [&] { return steady(once); });
}

// The smallest size at which both hops were timed and a round is long enough for its calls; else
// the largest at which they were.
std::optional<Bytes> relay_size(const HopTimes& first, const HopTimes& second, Seconds calls) {
  std::optional<Bytes> largest;
  for (const SizeTime& size : first.sizes) {
    const SizeTime* other = second.at(size.bytes);
    if (other == nullptr) continue;
    largest = size.bytes;
    if (size.per_copy + other->per_copy >= kClearlyLonger * calls) break;
  }
  return largest;
}

}  // namespace

std::vector<HopPair> staging_relays(const Machine& machine) {
  std::vector<HopPair> relays;
  for (std::size_t i = 0; i < machine.hops.size(); ++i)
    if (const auto first = feeding(machine, id_of(i))) relays.push_back({*first, id_of(i)});
  return relays;
}

StagingTimes measure_staging(Workbench& bench, const Sampler& sampler,
                             const std::vector<HopTimes>& hops, const StreamCosts& costs,
                             const std::function<void()>& step) {
  const Machine& machine = bench.machine();
  const std::size_t count = machine.places.size();
  const Seconds calls = 2 * (costs.copy.value + costs.event_record.value + costs.event_wait.value);
  StagingTimes times{{}, std::vector<double>(count, 0)};
  std::vector<PairSum> sums;
  for (const HopPair& pair : staging_relays(machine)) {
    const HopTimes& first = hops[pair.first.index()];
    const HopTimes& second = hops[pair.second.index()];
    if (const auto bytes = relay_size(first, second, calls)) {
      const Sample round = RelayMeasurement(bench, sampler, pair, *bytes).round();
      const Seconds copies = first.at(*bytes)->per_copy + second.at(*bytes)->per_copy;
      const std::size_t stage = machine.hop(pair.second).source.index();
      const std::size_t end = machine.hop(pair.second).destination.index();
      sums.push_back({stage, end, round.value - copies.value});
      times.spreads[stage] = std::max(times.spreads[stage], round.spread);
      times.spreads[end] = std::max(times.spreads[end], round.spread);
    }
    step();
  }
  for (const double value : solve_sums(count, sums)) times.places.push_back({value});
  return times;
}

}  // namespace polypath::probe
