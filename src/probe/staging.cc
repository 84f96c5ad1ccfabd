#include "probe/staging.h"

#include <algorithm>
#include <cmath>

#include "probe/fit.h"
#include "probe/hop_sets.h"

namespace polypath::probe {
namespace {

// The first copy must take this many times as long as the calls for one, in which time all that
// follow it are made.
constexpr double kLongerThanCalls = 2;
constexpr int kChainedCopies = 16;  // copies of which one is timed; the chunk is about as long

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
    if ((machine.executing_gpu(hop_id(i)) == machine.executing_gpu(out)) == same_gpu)
      return hop_id(i);
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

// The smallest size at which both hops were timed and the first is clearly longer than the calls;
// else the largest at which they were.
std::optional<Bytes> relay_size(const HopTimes& first, const HopTimes& second, Seconds calls) {
  std::optional<Bytes> largest;
  for (const SizeTime& size : first.sizes) {
    const SizeTime* other = second.at(size.bytes);
    if (other == nullptr) continue;
    largest = size.bytes;
    if (size.per_copy >= kLongerThanCalls * calls) break;
  }
  return largest;
}

// The remaining time of a chunk when all its known parts have been subtracted: two latencies.
struct Left {
  double sum = 0;
  double error = 0;  // the median absolute deviation
};

class Relay {
 public:
  Relay(Workbench& bench, const HopPair& pair, Bytes bytes, Seconds calls)
      : bench_(bench), pair_(pair), bytes_(bytes), calls_(calls), chunk_(bench, pair, bytes) {}

  // Nothing if at no try it is above 0 and agrees with itself.
  std::optional<Left> left(const Trust& trust) {
    for (int i = 0; i < trust.staging_tries; ++i) {
      std::vector<double> values, deviations;
      (void)once();
      for (int repeat = 0; repeat < trust.repeats; ++repeat) values.push_back(once().value);
      const double sum = median(values);
      for (const double value : values) deviations.push_back(std::abs(value - sum));
      const double error = median(deviations);
      if (sum > 0 && error <= std::max(trust.most_staging_spread * sum, trust.least_spread))
        return Left{sum, std::max(error, trust.least_spread)};
    }
    return std::nullopt;
  }

 private:
  Seconds once() {
    const Seconds total{steady([&] { return chunk_.once().value; })};
    return total - per_copy(pair_.first) - per_copy(pair_.second) - calls_;
  }

  Seconds per_copy(HopId hop) {
    const Seconds one = chain_time(bench_, hop, bytes_, 1);
    return (chain_time(bench_, hop, bytes_, 1 + kChainedCopies) - one) * (1.0 / kChainedCopies);
  }

  Workbench& bench_;
  HopPair pair_;
  Bytes bytes_;
  Seconds calls_;
  OneChunk chunk_;
};

// Staging and relay latencies as one list of unknowns.
class Unknowns {
 public:
  explicit Unknowns(const Machine& machine)
      : machine_(machine), errors_(2 * machine.places.size(), 0), times_(machine.places.size()) {}

  void add(const HopPair& pair, const std::optional<Left>& left) {
    const std::size_t stage = index(pair.first, machine_.executing_gpu(pair.second));
    const std::size_t end = index(pair.second, caller_of(machine_, pair));
    times_[stage % times_.size()].is_relay = true;
    if (!left) return;
    sums_.push_back({stage, end, left->sum, left->error});
    for (const std::size_t unknown : {stage, end}) {
      errors_[unknown] = std::max(errors_[unknown], left->error);
      double& spread = times_[unknown % times_.size()].spread;
      spread = std::max(spread, left->error / left->sum);
    }
  }

  std::vector<StagingTimes> solve() {
    const std::size_t places = times_.size();
    const auto values = solve_sums(2 * places, sums_, places);
    // No value that is not above its error, nor one that took part in no sum.
    const auto found = [&](std::size_t unknown) -> std::optional<Seconds> {
      if (values[unknown] <= errors_[unknown]) return std::nullopt;
      return Seconds{values[unknown]};
    };
    for (std::size_t p = 0; p < places; ++p) {
      times_[p].staging = errors_[p] > 0 ? found(p) : found(places + p);
      times_[p].relay = found(places + p).value_or(times_[p].staging.value_or(Seconds{}));
    }
    return std::move(times_);
  }

 private:
  // Of the latency that `gpu` pays for going on where the hop has arrived.
  [[nodiscard]] std::size_t index(HopId arrived, PlaceId gpu) const {
    const std::size_t place = machine_.hop(arrived).destination.index();
    return machine_.executing_gpu(arrived) == gpu ? times_.size() + place : place;
  }

  const Machine& machine_;
  std::vector<double> errors_;  // of each unknown; 0 if it is in no sum
  std::vector<StagingTimes> times_;
  std::vector<PairSum> sums_;
};

}  // namespace

std::vector<HopPair> staging_relays(const Machine& machine) {
  std::vector<HopPair> relays;
  for (std::size_t i = 0; i < machine.hops.size(); ++i)
    for (const bool same_gpu : {false, true})
      if (const auto first = feeding(machine, hop_id(i), same_gpu))
        relays.push_back({*first, hop_id(i)});
  return relays;
}

std::vector<StagingTimes> measure_staging(Workbench& bench, const Sampler& sampler,
                                          const std::vector<HopTimes>& hops,
                                          const StreamCosts& costs, Seconds synchronize,
                                          const std::function<void()>& step) {
  const Machine& machine = bench.machine();
  const Seconds calls = costs.copy.value + costs.event_record.value + costs.event_wait.value;
  Unknowns unknowns(machine);
  for (const HopPair& pair : staging_relays(machine)) {
    const auto bytes = relay_size(hops[pair.first.index()], hops[pair.second.index()], calls);
    unknowns.add(pair, bytes ? Relay(bench, pair, *bytes, calls + synchronize).left(sampler.trust())
                             : std::nullopt);
    step();
  }
  return unknowns.solve();
}

}  // namespace polypath::probe
