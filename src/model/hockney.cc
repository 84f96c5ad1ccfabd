#include "model/hockney.h"

#include <algorithm>
#include <cmath>

namespace polypath {
namespace {

// The chunk's fixed cost on the slower leg and the bandwidth of the faster one: the two terms that
// eq. 14 and 15 weigh against each other.
struct ChunkTradeOff {
  Seconds fixed;
  BytesPerSecond faster;
};

bool first_is_slower(const HockneyPath& path) {
  return path.first.bandwidth < path.second->bandwidth;
}

ChunkTradeOff trade_off(const HockneyPath& path) {
  if (first_is_slower(path)) return {path.first.latency, path.second->bandwidth};
  return {path.staging + path.second->latency, path.first.bandwidth};
}

}  // namespace

Seconds unpipelined_time(const HockneyPath& path, Bytes bytes) {
  const Seconds first = path.first.latency + bytes / path.first.bandwidth;
  if (!path.second) return first;
  return first + path.staging + path.second->latency + bytes / path.second->bandwidth;
}

Seconds pipelined_time(const HockneyPath& path, Bytes bytes, double chunks) {
  if (!path.second) return unpipelined_time(path, bytes);
  const Seconds first = path.first.latency + (bytes / path.first.bandwidth) * (1 / chunks);
  const Seconds second =
      path.staging + path.second->latency + (bytes / path.second->bandwidth) * (1 / chunks);
  return first_is_slower(path) ? chunks * first + second : first + chunks * second;
}

double best_chunk_count(const HockneyPath& path, Bytes bytes) {
  if (!path.second) return 1;
  const ChunkTradeOff weigh = trade_off(path);
  if (weigh.fixed.value <= 0) return 1;
  return std::max(1.0, std::sqrt((bytes / weigh.faster) / weigh.fixed));
}

double topology_constant(const HockneyPath& path, Bytes reference) {
  // √x = φ·x at x = reference/(α·β') gives φ = 1/√x, and √x is the best count there.
  return 1 / best_chunk_count(path, reference);
}

double linear_chunk_count(const HockneyPath& path, Bytes bytes, double phi) {
  if (!path.second) return 1;
  const ChunkTradeOff weigh = trade_off(path);
  if (weigh.fixed.value <= 0) return 1;
  return std::max(1.0, phi * ((bytes / weigh.faster) / weigh.fixed));
}

LinearTime linear_time(const HockneyPath& path, double phi, Seconds previous) {
  const double first = 1 / path.first.bandwidth.value;
  if (!path.second) return {first, path.first.latency + previous};
  const double second = 1 / path.second->bandwidth.value;
  const Seconds arrival = path.staging + path.second->latency;
  if (first_is_slower(path))
    return {first + phi * second, arrival + path.first.latency * (1 / phi) + previous};
  return {phi * first + second, path.first.latency + arrival * (1 / phi) + previous};
}

std::vector<double> closed_form_shares(std::span<const LinearTime> paths, Bytes bytes) {
  std::vector<bool> used(paths.size(), true);
  std::vector<double> shares(paths.size(), 0);
  while (true) {
    double inverse_sum = 0, delta_sum = 0;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (!used[i]) continue;
      inverse_sum += 1 / paths[i].slope;
      delta_sum += paths[i].offset.value / paths[i].slope;
    }
    const double finish = (bytes.real() + delta_sum) / inverse_sum;
    bool dropped = false;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      shares[i] = used[i] ? (finish - paths[i].offset.value) / paths[i].slope / bytes.real() : 0;
      if (shares[i] < 0) used[i] = false, dropped = true;
    }
    if (!dropped) return shares;
  }
}

}  // namespace polypath
