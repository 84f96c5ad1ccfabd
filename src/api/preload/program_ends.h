#pragma once
// What a copy of the program is between, and the copy on its way through the
// questions.

#include "api/preload/program_copy.h"
#include "driver/driver.h"
#include "engine/decide/decision.h"

namespace polypath::preload {

/// A piece of memory that a copy begins or ends in.
struct ProgramEnd {
  MemoryInfo memory;
  bool imported = false;  ///< from another process
  Reach reach = {};
  [[nodiscard]] bool is_device() const { return memory.kind == MemoryKind::device; }
};

struct ProgramEnds {
  ProgramEnd destination, source;
  [[nodiscard]] bool pageable() const {
    return destination.memory.kind == MemoryKind::pageable ||
           source.memory.kind == MemoryKind::pageable;
  }
  /// Any GPU may touch both.
  [[nodiscard]] bool are_open() const {
    return destination.reach.everyone() && source.reach.everyone();
  }
  [[nodiscard]] bool imported() const { return destination.imported || source.imported; }
  /// The driver's blocking calls do not wait for such copies.
  [[nodiscard]] bool between_gpus() const { return destination.is_device() && source.is_device(); }
  [[nodiscard]] CopyEnds for_engine() const {
    return {.destination = destination.memory.place,
            .source = source.memory.place,
            .destination_kind = destination.memory.kind,
            .source_kind = source.memory.kind,
            .destination_reach = destination.reach,
            .source_reach = source.reach};
  }
};

struct ProgramQuestion {
  const ProgramCopy& asked;
  PlaceId gpu;  ///< of the stream
  ProgramEnds ends;
  Decision decision;
};

}  // namespace polypath::preload
