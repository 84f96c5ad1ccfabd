#pragma once
// Copies and fills between memories of any kind, for calls of any name.

#include "standin/state/process.h"

namespace polypath::standin {

/// An end of a copy as its call declares it: memory that the driver knows, or anything.
enum class End { known, any };

struct CopyArguments {
  Address destination;
  Address source;
  Bytes bytes;
  End destination_end = End::any;
  End source_end = End::any;
};

/// Whether the call that copies or fills is one of those that CUDA calls synchronous. The work that
/// they wait for depends on the memories all the same (CUDA's "API synchronization behavior").
enum class Synchrony { asynchronous, synchronous };

/// Enqueues the copy, or makes it a node if the stream is captured. Returns the work that the call
/// has to wait for.
Waiting enqueue_copy(Process& process, const CopyArguments& call, Synchrony synchrony,
                     StreamArgument stream);

/// Enqueues the filling of `count` elements.
Waiting enqueue_fill(Process& process, Address destination, const std::vector<std::byte>& element,
                     std::uint64_t count, Synchrony synchrony, StreamArgument stream);

}  // namespace polypath::standin
