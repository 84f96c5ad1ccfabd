#pragma once
// The bytes written to test whether bytes arrive: driver/cuda/peer_check.h,
// collective/rank/rank_trial.h.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units.h"

namespace polypath::driver {

inline constexpr Bytes kTrialBytes{(std::uint64_t{64} << 10) + 96};  ///< no whole number of pages

/// Others for each seed; no two parts are alike.
inline std::vector<std::byte> trial_bytes(std::uint64_t seed) {
  std::vector<std::byte> bytes(kTrialBytes.value);
  for (std::size_t at = 0; at < bytes.size(); ++at)
    bytes[at] = static_cast<std::byte>((at * 2654435761U + seed * 40503U) >> 11);
  return bytes;
}

}  // namespace polypath::driver
