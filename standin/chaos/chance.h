#pragma once
// The choices that the chaotic driver makes, from a seed. Used under the scheduler's lock, or by
// its thread only.

#include <chrono>
#include <cstdint>
#include <random>

namespace polypath::standin::chaos {

using Clock = std::chrono::steady_clock;

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}

  /// 0 to `count` - 1, all alike.
  std::uint64_t below(std::uint64_t count) { return engine_() % count; }
  std::uint64_t between(std::uint64_t least, std::uint64_t most) {
    return least + below(most - least + 1);
  }
  bool one_in(std::uint64_t count) { return below(count) == 0; }
  /// How long work is left alone that could go on: mostly not at all or for microseconds, and
  /// sometimes for milliseconds.
  Clock::duration delay();

 private:
  std::mt19937_64 engine_;
};

}  // namespace polypath::standin::chaos
