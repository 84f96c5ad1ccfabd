// The extra cost of a GPU's copies while it makes another one; see staging.h.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "probe/hop_sets.h"
#include "probe/staging.h"

namespace polypath::probe {
namespace {

constexpr Bytes kChainedCopy = 1_MiB;
constexpr Bytes kLong = 256_MiB;
constexpr double kMostOfIt = 0.7;  // of the long copy: the chain must be over before
constexpr int kFewestBesideLong = 4, kMostBesideLong = 64;

// A hop to a peer and one to a host, both made by the GPU, that do not touch each other.
struct PeerAndHost {
  HopId peer, host;
};

std::optional<PeerAndHost> pair_of(const Machine& machine, PlaceId gpu) {
  for (std::size_t p = 0; p < machine.hops.size(); ++p) {
    if (machine.hops[p].source != gpu || machine.hops[p].kind != HopKind::peer) continue;
    for (std::size_t h = 0; h < machine.hops.size(); ++h)
      if (machine.hops[h].source == gpu && machine.hops[h].kind == HopKind::host &&
          !share_something(machine.hops[p], machine.hops[h]))
        return PeerAndHost{hop_id(p), hop_id(h)};
  }
  return std::nullopt;
}

class Chain {
 public:
  Chain(Workbench& bench, const PeerAndHost& pair, int copies)
      : bench_(bench), pair_(pair), copies_(copies) {}

  Seconds time(bool beside_long_copy) {
    Driver& driver = bench_.driver();
    const PlaceId gpu = bench_.machine().executing_gpu(pair_.host);
    const StreamHandle chain = bench_.stream(gpu, 1), other = bench_.stream(gpu, 2);
    const CopyRequest chunk = bench_.copy_over(pair_.host, kChainedCopy);
    const CopyRequest whole = bench_.copy_over(pair_.peer, kLong, 3, 3);
    bench_.settle();
    if (beside_long_copy) driver.copy(whole, other);
    const Seconds start = driver.now();
    for (int i = 0; i < copies_; ++i) driver.copy(chunk, chain);
    driver.synchronize(chain);
    return driver.now() - start;
  }

 private:
  Workbench& bench_;
  PeerAndHost pair_;
  int copies_;
};

Seconds busy_latency(Workbench& bench, const Sampler& sampler, const PeerAndHost& pair,
                     const std::vector<HopTimes>& hops) {
  const SizeTime* whole = hops[pair.peer.index()].at(kLong);
  const SizeTime* chunk = hops[pair.host.index()].at(kChainedCopy);
  if (whole == nullptr || chunk == nullptr) return {};
  const int copies =
      std::min(kMostBesideLong, static_cast<int>(kMostOfIt * (whole->per_copy / chunk->per_copy)));
  if (copies < kFewestBesideLong) return {};
  Chain chain(bench, pair, copies);
  const auto measure = [&](bool beside) {
    const std::string what = fmt::format("a chain over {}{}", hop_name(bench.machine(), pair.host),
                                         beside ? " beside a long copy" : "");
    return sampler.measure(what, [&] { return steady([&] { return chain.time(beside).value; }); });
  };
  const double more = measure(true).value - measure(false).value;
  return {std::max(more, 0.0) / copies};
}

}  // namespace

std::vector<Seconds> measure_busy(Workbench& bench, const Sampler& sampler,
                                  const std::vector<HopTimes>& hops) {
  const Machine& machine = bench.machine();
  std::vector<Seconds> latencies(machine.places.size());
  for (const PlaceId gpu : machine.places_of(PlaceKind::gpu))
    if (const auto pair = pair_of(machine, gpu))
      latencies[gpu.index()] = busy_latency(bench, sampler, *pair, hops);
  return latencies;
}

}  // namespace polypath::probe
