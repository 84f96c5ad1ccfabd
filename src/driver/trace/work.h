#pragma once
// Work that has run on the machine, for timelines: one piece of work in a stream, and its name.
//
// A copy of a transfer is called by the whole way of its bytes, "gpu0 -> gpu1 via gpu2, chunk 3 of
// 8, 4 MiB", whichever of the two hops it makes; chunks count from 1 there, as people do.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "driver/driver.h"

namespace polypath::trace {

/// The kind of a piece of work.
enum class Kind { copy, native, reduction, kernel, graph };

/// One piece of work in a stream. Times are of one clock, whose origin is anything.
struct Work {
  Kind kind = Kind::copy;
  CopyLabel label = {};
  PlaceId source = {};       ///< of a kernel, its GPU
  PlaceId destination = {};  ///< the same
  Bytes bytes = {};          ///< of a kernel, all that it uses
  Seconds started = {};
  Seconds finished = {};
  Seconds ready = {};    ///< when it could have started: it has queued since then
  std::size_t copies{};  ///< of a graph
};

/// How a place is called.
using PlaceNames = std::function<std::string(PlaceId)>;

/// The names of the pieces of one transfer, all of them, in their order.
std::vector<std::string> names_of(std::span<const Work> transfer, const PlaceNames& places);

/// Where bytes came by on their way, in two hops: the two copies of one chunk.
struct Relay {
  std::size_t first = 0;   ///< index of the copy into the staging place
  std::size_t second = 0;  ///< and of the one out of it
};

/// The copies of a transfer that hand chunks on, found by path, chunk and place.
std::vector<Relay> relays_of(std::span<const Work> transfer);

}  // namespace polypath::trace
