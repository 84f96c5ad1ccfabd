#include "model/chunks.h"

#include <algorithm>
#include <cmath>

namespace polypath::model {
namespace {

constexpr std::uint64_t kAlignment = 512;

std::uint64_t aligned(double bytes) {
  return static_cast<std::uint64_t>(std::max(bytes, 0.0)) / kAlignment * kAlignment;
}

// Sizes of the small chunks beside a body of chunks of `body` bytes, smallest first.
std::vector<std::uint64_t> taper_sizes(double body, double ratio, int taper, Bytes smallest) {
  std::vector<std::uint64_t> sizes;
  double size = body;
  for (int i = 0; i < taper; ++i) {
    size *= ratio;
    const std::uint64_t rounded = aligned(size);
    if (rounded == 0 || rounded < smallest.value) break;
    sizes.insert(sizes.begin(), rounded);
  }
  return sizes;
}

// `bytes`, a multiple of the alignment, in `count` pieces as equal as alignment allows.
std::vector<std::uint64_t> equal_sizes(std::uint64_t bytes, std::uint64_t count) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t left = count; left > 0; --left) {
    const std::uint64_t size = (bytes / left + kAlignment - 1) / kAlignment * kAlignment;
    sizes.push_back(std::min(size, bytes));
    bytes -= sizes.back();
  }
  std::erase(sizes, 0U);
  return sizes;
}

// The bounds that aligned chunks can meet.
ChunkBounds aligned(const ChunkBounds& bounds) {
  const std::uint64_t up = (bounds.smallest.value + kAlignment - 1) / kAlignment * kAlignment;
  const std::uint64_t down = bounds.largest.value / kAlignment * kAlignment;
  return {{std::max(up, kAlignment)}, {std::max(down, kAlignment)}};
}

}  // namespace

std::vector<Bytes> chunk_sizes(const HockneyPath& path, Bytes bytes, double count, int taper,
                               const ChunkBounds& bounds) {
  const auto [smallest, largest] = aligned(bounds);
  const double most = std::max(1.0, std::floor(bytes.real() / smallest.real()));
  const double least = std::ceil(bytes.real() / largest.real());
  const double chunks = std::max(std::min(std::round(count), most), least);
  const bool first_slower = path.second && path.first.bandwidth < path.second->bandwidth;
  const double slow =
      path.second ? std::min(path.first.bandwidth, path.second->bandwidth).value : 1;
  const double fast =
      path.second ? std::max(path.first.bandwidth, path.second->bandwidth).value : 1;
  auto small = taper_sizes(bytes.real() / chunks, slow / fast, slow < fast ? taper : 0, smallest);
  double tapered = 0;
  for (const std::uint64_t size : small) tapered += static_cast<double>(size);
  if (bytes.real() - tapered < chunks * smallest.real()) small.clear(), tapered = 0;

  const std::uint64_t rest = bytes.value % kAlignment;
  const std::uint64_t whole = bytes.value - rest - static_cast<std::uint64_t>(tapered);
  const auto body = equal_sizes(whole, static_cast<std::uint64_t>(chunks));
  std::vector<Bytes> sizes;
  if (!first_slower)
    for (const std::uint64_t size : small) sizes.push_back({size});
  for (const std::uint64_t size : body) sizes.push_back({size});
  if (first_slower)
    for (auto size = small.rbegin(); size != small.rend(); ++size) sizes.push_back({*size});
  if (sizes.empty() && rest > 0) return {{rest}};
  if (rest > 0) sizes.back() += Bytes{rest};
  return sizes;
}

double exact_chunk_count(const HockneyPath& path, Bytes bytes, Seconds issue) {
  if (!path.second) return 1;
  const bool first_slower = path.first.bandwidth < path.second->bandwidth;
  const Leg& slower = first_slower ? path.first : *path.second;
  const Leg& faster = first_slower ? *path.second : path.first;
  const Seconds fixed = std::max(slower.latency, issue);
  if (fixed.value <= 0) return bytes.real();
  return std::max(1.0, std::sqrt((bytes / faster.bandwidth) / fixed));
}

}  // namespace polypath::model
