#pragma once
// What a simulated driver is asked for, and what it tells of finished work.

#include "driver/driver.h"

namespace polypath::sim {

/// For tests: of the copies and reductions that move bytes, one whose result has its first bytes
/// inverted, up to eight.
struct Flip {
  int at = 0;    ///< its number, from 1; 0: none
  int done = 0;  ///< so many have been made, in the order in which they were over
};

struct Options {
  bool move_bytes = true;   ///< false: timing only, memory cannot be touched
  bool check_races = true;  ///< find unordered accesses
  bool record_trace = false;
  Flip* flip = nullptr;  ///< outlives the driver
};

/// For callers that need only times.
inline constexpr Options kTimingOnly{.move_bytes = false, .check_races = false};

/// One finished copy, reduction or kernel.
struct Span {
  CopyLabel label;
  HopId hop;        ///< invalid within one place, and of a reduction or kernel
  Bytes bytes;      ///< of a kernel, all that it uses
  Seconds ready;    ///< all it waited for had finished
  Seconds started;  ///< its engines were free
  Seconds finished;
  PlaceId gpu = {};  ///< of a reduction or kernel
};

}  // namespace polypath::sim
