#include "probe/staging.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/text.h"
#include "probe/fit.h"

namespace polypath::probe {
namespace {

// A copy must take this many times as long as the calls that are made meanwhile.
constexpr double kClearlyLonger = 2;

HopId id_of(std::size_t index) { return {static_cast<std::int32_t>(index)}; }

bool is_host(const Machine& machine, PlaceId place) {
  return machine.place(place).kind == PlaceKind::host;
}

// The first hop into the source of `out`, not from its end nor from host to host, that the same GPU
// makes, or another one.
std::optional<HopId> feeding(const Machine& machine, HopId out, bool same_gpu) {
  for (std::size_t i = 0; i < machine.hops.size(); ++i) {
    const Hop& hop = machine.hops[i];
    if (hop.destination != machine.hop(out).source || hop.source == machine.hop(out).destination)
      continue;
    if (is_host(machine, hop.source) && is_host(machine, machine.hop(out).destination)) continue;
    if ((machine.executing_gpu(id_of(i)) == machine.executing_gpu(out)) == same_gpu)
      return id_of(i);
  }
  return std::nullopt;
}

// The GPU on whose stream a caller would have the copy.
PlaceId caller_of(const Machine& machine, const HopPair& pair) {
  const PlaceId source = machine.hop(pair.first).source;
  return is_host(machine, source) ? machine.hop(pair.second).destination : source;
}

class OneChunk {
 public:
  OneChunk(Workbench& bench, const HopPair& pair, Bytes bytes)
      : bench_(bench),
        pair_(pair),
        bytes_(bytes),
        caller_(caller_of(bench.machine(), pair)),
        caller_stream_(bench.stream(caller_, kCaller)) {}

  Seconds once() {
    Driver& driver = bench_.driver();
    const StreamHandle first = bench_.stream_of(pair_.first, kFirst);
    const StreamHandle second = bench_.stream_of(pair_.second, kSecond);
    const CopyRequest into = bench_.copy_over(pair_.first, bytes_, 0, 1);
    const CopyRequest out_of = bench_.copy_over(pair_.second, bytes_, 1, 2);
    const EventHandle forked = bench_.event(caller_, kCaller), arrived = event(pair_.first, kFirst),
                      last = event(pair_.second, kSecond);
    bench_.settle();
    const Seconds start = driver.now();
    driver.record(forked, caller_stream_);
    driver.wait(first, forked);
    driver.copy(into, first);
    driver.record(arrived, first);
    driver.wait(second, arrived);
    driver.copy(out_of, second);
    driver.record(last, second);
    driver.wait(caller_stream_, last);
    driver.synchronize(caller_stream_);
    return driver.now() - start;
  }

 private:
  static constexpr int kCaller = 0, kFirst = 1, kSecond = 2;

  EventHandle event(HopId hop, int index) {
    return bench_.event(bench_.machine().executing_gpu(hop), index);
  }

  Workbench& bench_;
  HopPair pair_;
  Bytes bytes_;
  PlaceId caller_;
  StreamHandle caller_stream_;
};

// The smallest size at which both hops were timed and are clearly longer than the calls; else the
// largest at which they were.
std::optional<Bytes> relay_size(const HopTimes& first, const HopTimes& second, Seconds calls) {
  std::optional<Bytes> largest;
  for (const SizeTime& size : first.sizes) {
    const SizeTime* other = second.at(size.bytes);
    if (other == nullptr) continue;
    largest = size.bytes;
    if (std::min(size.per_copy, other->per_copy) >= kClearlyLonger * calls) break;
  }
  return largest;
}

// Staging and relay latencies as one list of unknowns.
class Unknowns {
 public:
  explicit Unknowns(const Machine& machine)
      : machine_(machine), times_{{}, {}, std::vector<double>(machine.places.size(), 0)} {}

  void add(const HopPair& pair, double sum, double spread) {
    const std::size_t stage = index(pair.first, machine_.executing_gpu(pair.second));
    const std::size_t end = index(pair.second, caller_of(machine_, pair));
    sums_.push_back({stage, end, sum});
    for (const std::size_t unknown : {stage, end}) {
      double& known = times_.spreads[unknown % machine_.places.size()];
      known = std::max(known, spread);
    }
  }

  StagingTimes solve() {
    const std::size_t places = machine_.places.size();
    const auto values = solve_sums(2 * places, sums_);
    for (std::size_t p = 0; p < places; ++p) {
      times_.staging.push_back({values[seen(p) || !seen(places + p) ? p : places + p]});
      times_.relay.push_back({values[seen(places + p) ? places + p : p]});
    }
    return times_;
  }

 private:
  // Of the latency that `gpu` pays for going on where the hop has arrived.
  [[nodiscard]] std::size_t index(HopId arrived, PlaceId gpu) const {
    const std::size_t place = machine_.hop(arrived).destination.index();
    return machine_.executing_gpu(arrived) == gpu ? machine_.places.size() + place : place;
  }

  [[nodiscard]] bool seen(std::size_t unknown) const {
    return std::any_of(sums_.begin(), sums_.end(), [&](const PairSum& sum) {
      return sum.first == unknown || sum.second == unknown;
    });
  }

  const Machine& machine_;
  StagingTimes times_;
  std::vector<PairSum> sums_;
};

}  // namespace

std::vector<HopPair> staging_relays(const Machine& machine) {
  std::vector<HopPair> relays;
  for (std::size_t i = 0; i < machine.hops.size(); ++i)
    for (const bool same_gpu : {false, true})
      if (const auto first = feeding(machine, id_of(i), same_gpu))
        relays.push_back({*first, id_of(i)});
  return relays;
}

StagingTimes measure_staging(Workbench& bench, const Sampler& sampler,
                             const std::vector<HopTimes>& hops, const StreamCosts& costs,
                             Seconds synchronize, const std::function<void()>& step) {
  const Machine& machine = bench.machine();
  const Sampler roughly(sampler.trust().believing(sampler.trust().most_chunk_spread));
  const Seconds calls = costs.copy.value + costs.event_record.value + costs.event_wait.value;
  Unknowns unknowns(machine);
  for (const HopPair& pair : staging_relays(machine)) {
    const HopTimes& first = hops[pair.first.index()];
    const HopTimes& second = hops[pair.second.index()];
    if (const auto bytes = relay_size(first, second, calls)) {
      OneChunk chunk(bench, pair, *bytes);
      const std::string what =
          fmt::format("one chunk over {} and {}", hop_name(machine, pair.first),
                      hop_name(machine, pair.second));
      const Sample total =
          roughly.measure(what, [&] { return steady([&] { return chunk.once().value; }); });
      const Seconds known = calls + first.at(*bytes)->per_copy + second.at(*bytes)->per_copy;
      unknowns.add(pair, total.value - (known + synchronize).value, total.spread);
    }
    step();
  }
  return unknowns.solve();
}

}  // namespace polypath::probe
