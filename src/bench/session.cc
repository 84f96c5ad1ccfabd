#include "bench/session.h"

#include <cstring>

namespace polypath::bench {
namespace {

// Different in every word and for every seed, so that a misplaced chunk cannot go unnoticed.
void write_pattern(Address begin, Bytes bytes, std::uint64_t seed) {
  auto* data = reinterpret_cast<unsigned char*>(begin.value);
  std::uint64_t word = seed * 0x9e3779b97f4a7c15ULL + 1;
  std::uint64_t i = 0;
  for (; i + 8 <= bytes.value; i += 8, word += 0x9e3779b97f4a7c15ULL) {
    const std::uint64_t mixed = word ^ (word >> 29);
    std::memcpy(data + i, &mixed, 8);
  }
  std::memcpy(data + i, &word, bytes.value - i);
}

}  // namespace

Session::Session(const Machine& machine, const Operation& operation, Bytes bytes,
                 const Settings& settings, sim::Options driver_options)
    : driver_(machine, driver_options),
      operation_(operation),
      bytes_(bytes),
      results_(operation.lanes.size()) {
  const auto load = std::make_shared<LoadTracker>(machine);
  for (const Lane& lane : operation.lanes) {
    const PlaceId gpu = gpu_of(lane);
    engines_.push_back(std::make_unique<Engine>(driver_, machine, settings, load));
    buffers_.push_back({driver_.allocate(lane.source, bytes),
                        driver_.allocate(lane.destination, bytes), driver_.create_stream(gpu),
                        gpu});
    driver_.use_host_thread(buffers_.size() - 1);
  }
}

Session::~Session() {
  for (const Buffers& buffers : buffers_) {
    driver_.synchronize(buffers.stream);
    driver_.free(buffers.source);
    driver_.free(buffers.destination);
    driver_.destroy_stream(buffers.stream);
  }
}

// The GPU that would do the native copy.
PlaceId Session::gpu_of(const Lane& lane) const {
  const Machine& machine = driver_.machine();
  return machine.place(lane.source).kind == PlaceKind::gpu ? lane.source : lane.destination;
}

void Session::copy(std::size_t lane, const PlanOptions& options, bool first) {
  const Buffers& buffers = buffers_[lane];
  const CopyResult result = engines_[lane]->copy(
      {buffers.destination, buffers.source, bytes_, buffers.stream, buffers.gpu, options});
  if (first) results_[lane] = result;
}

Seconds Session::run(const PlanOptions& options, int window) {
  driver_.align_host_threads();
  const Seconds start = driver_.now();
  for (int i = 0; i < window; ++i)
    for (std::size_t lane = 0; lane < buffers_.size(); ++lane) {
      if (!operation_.in_turn) driver_.use_host_thread(lane);
      copy(lane, options, i == 0);
      if (operation_.in_turn) driver_.synchronize(buffers_[lane].stream);
    }
  for (std::size_t lane = 0; lane < buffers_.size() && !operation_.in_turn; ++lane) {
    driver_.use_host_thread(lane);
    driver_.synchronize(buffers_[lane].stream);
  }
  driver_.align_host_threads();
  return driver_.now() - start;
}

void Session::fill() {
  for (std::size_t lane = 0; lane < buffers_.size(); ++lane) {
    write_pattern(buffers_[lane].source, bytes_, 2 * lane);
    write_pattern(buffers_[lane].destination, bytes_, 2 * lane + 1);
  }
}

bool Session::verify() const {
  for (const Buffers& buffers : buffers_)
    if (std::memcmp(reinterpret_cast<const void*>(buffers.source.value),
                    reinterpret_cast<const void*>(buffers.destination.value), bytes_.value) != 0)
      return false;
  return true;
}

}  // namespace polypath::bench
