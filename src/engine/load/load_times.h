#pragma once
// When transfers count as running beside each other, and as mirror images.

#include <cstdint>

namespace polypath::engine {

/// Predictions are off by up to this part. A transfer that is about to end counts as over: else a
/// ping that is not predicted to have ended yet when the pong starts would make both count as
/// simultaneous.
inline constexpr double kAboutToEnd = 0.1;

inline bool still_runs(double end, double duration, double now) {
  return end - now > kAboutToEnd * duration;
}

/// The two sizes of an exchange.
inline bool as_large(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kFactor = 2;
  return a <= kFactor * b && b <= kFactor * a;
}

}  // namespace polypath::engine
