#pragma once
// In which order a block of a kernel that exchanges parcels (mailbox_layout.h) has its parcels, and
// when it may send one. Each rank's block of that number has the same ones, in the same order.

#include <cstdint>

#include "kernels/on_both.h"

namespace polypath::kernels {

/// A parcel of a block's.
struct LapStep {
  unsigned phase = 0;        ///< in the second one what was made in the first one is shared
  std::uint64_t parcel = 0;  ///< of the message
  std::uint64_t slot = 0;    ///< of the box
  std::uint32_t lap = 0;     ///< its flag; odd ones are in the second half
  unsigned number = 0;       ///< among this block's, from 1 on
};

/// The laps of one call, as a block sees them.
struct Laps {
  std::uint32_t first = 0;
  unsigned phases = 1;
  unsigned in_phase = 1;
  /// Each lap of the first phase is followed by that of the second one, so that ranks which have
  /// little to send in one phase do not wait for its end.
  bool alternate = false;
  unsigned rows = 1;  ///< of a lap: parcels of this block
  std::uint64_t blocks = 1, block = 0;

  /// Of so many parcels, `slots` of which fit a half.
  static POLYPATH_ON_BOTH constexpr Laps of(std::uint64_t parcels, std::uint64_t slots,
                                            std::uint64_t blocks) {
    const std::uint64_t all = (parcels + blocks - 1) / blocks, most = slots / blocks;
    Laps laps;
    laps.rows = static_cast<unsigned>(all < most ? all : most);
    laps.in_phase = static_cast<unsigned>((all + laps.rows - 1) / laps.rows);
    laps.blocks = blocks;
    return laps;
  }

  [[nodiscard]] POLYPATH_ON_BOTH constexpr std::uint32_t count() const { return phases * in_phase; }

  /// Laps are equally long: where a message has no parcel any more, its flag goes. So a call that
  /// is over says that all others have taken in what was in the lap before its last one, where the
  /// next call begins.
  template <class Do>
  POLYPATH_ON_BOTH constexpr void for_all(Do what) const {
    LapStep step;
    step.lap = first;
    for (unsigned number = 0; number < count(); ++number, ++step.lap) {
      step.phase = alternate ? number % phases : number / in_phase;
      const unsigned lap = alternate ? number / phases : number % in_phase;
      for (unsigned row = 0; row < rows; ++row) {
        step.slot = row * blocks + block;
        step.parcel = std::uint64_t{lap} * rows * blocks + step.slot;
        ++step.number;
        what(step);
      }
    }
  }

  /// How many parcels the block must have taken in before it sends that one: those up to its place
  /// of the lap before, so that all others have taken in what was there two laps before; and in the
  /// second phase what is to be sent is there.
  [[nodiscard]] POLYPATH_ON_BOTH constexpr unsigned taken_before(const LapStep& step) const {
    return step.number > rows ? step.number - rows : 0;
  }
};

}  // namespace polypath::kernels
