#include "driver/sim/race_detector.h"

#include <fmt/format.h>

#include <algorithm>

namespace polypath::sim {
namespace {

// Accesses are looked up by the blocks they touch, and kept for each of them. Copies are large, and
// many buffers small.
constexpr std::uintptr_t kBlock = std::uintptr_t{1} << 20;

}  // namespace

void Clock::set(std::size_t thread, std::uint32_t stamp) {
  if (stamps_.size() <= thread) stamps_.resize(thread + 1, 0);
  stamps_[thread] = stamp;
}

void Clock::join(const Clock& other) {
  if (stamps_.size() < other.stamps_.size()) stamps_.resize(other.stamps_.size(), 0);
  for (std::size_t t = 0; t < other.stamps_.size(); ++t)
    stamps_[t] = std::max(stamps_[t], other.stamps_[t]);
}

std::size_t RaceDetector::add_thread() {
  // A number is used again only when the host comes after all that its last owner did.
  for (std::size_t i = 0; i < retired_.size(); ++i) {
    const std::size_t thread = retired_[i];
    if (host_[thread] < steps_[thread]) continue;
    retired_.erase(retired_.begin() + static_cast<std::ptrdiff_t>(i));
    clocks_[thread] = host_;
    return thread;
  }
  clocks_.push_back(host_);
  steps_.push_back(0);
  return clocks_.size() - 1;
}

void RaceDetector::retire_thread(std::size_t thread) { retired_.push_back(thread); }

const Clock& RaceDetector::step(std::size_t thread) {
  if (!watches_) return clocks_[thread];
  clocks_[thread].join(host_);
  clocks_[thread].set(thread, ++steps_[thread]);
  return clocks_[thread];
}

std::string RaceDetector::describe(const Access& a, const Access& b) {
  return fmt::format("race: {} ({}) and {} ({}) touch the same bytes, and nothing orders them",
                     *a.what, a.write ? "writes" : "reads", *b.what, b.write ? "writes" : "reads");
}

std::string RaceDetector::access(std::size_t thread, const Region& region, bool write,
                                 const std::string& what) {
  const std::uintptr_t begin = region.begin.value, end = begin + region.bytes.value;
  Access now{0,
             0,
             region.allocation,
             write,
             thread,
             steps_[thread],
             std::make_shared<const std::string>(what)};
  std::string race;
  for (std::uintptr_t block = begin / kBlock; block <= (end - 1) / kBlock; ++block) {
    now.begin = std::max(begin, block * kBlock), now.end = std::min(end, (block + 1) * kBlock);
    add(accesses_[block], now, race);
  }
  return race;
}

// `earlier` are of one block, and so is `now`.
void RaceDetector::add(Accesses& earlier, const Access& now, std::string& race) const {
  const Clock& clock = clocks_[now.thread];
  std::erase_if(earlier, [&](const Access& other) {
    if (host_[other.thread] >= other.stamp) return true;
    if (other.end <= now.begin || now.end <= other.begin) return false;
    const bool ordered = clock[other.thread] >= other.stamp;
    if (!ordered && (now.write || other.write) && race.empty()) race = describe(other, now);
    // Moments after this access come after the other access, too: keep only this one.
    return ordered && (now.write || !other.write) && now.allocation == other.allocation &&
           now.begin <= other.begin && other.end <= now.end;
  });
  earlier.push_back(now);
}

bool RaceDetector::touches(const Access& access, const Region& region) {
  return access.allocation == region.allocation && region.begin.value < access.end &&
         access.begin < region.begin.value + region.bytes.value;
}

bool RaceDetector::in_use(const Region& region) const {
  const std::uintptr_t end = region.begin.value + region.bytes.value;
  for (std::uintptr_t block = region.begin.value / kBlock; block <= (end - 1) / kBlock; ++block) {
    const auto found = accesses_.find(block);
    if (found == accesses_.end()) continue;
    for (const Access& access : found->second)
      if (touches(access, region) && host_[access.thread] < access.stamp) return true;
  }
  return false;
}

void RaceDetector::forget(const Region& region) {
  const std::uintptr_t end = region.begin.value + region.bytes.value;
  for (std::uintptr_t block = region.begin.value / kBlock; block <= (end - 1) / kBlock; ++block) {
    const auto found = accesses_.find(block);
    if (found == accesses_.end()) continue;
    std::erase_if(found->second, [&](const Access& access) { return touches(access, region); });
    if (found->second.empty()) accesses_.erase(found);
  }
}

}  // namespace polypath::sim
