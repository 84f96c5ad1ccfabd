#pragma once
// Copies and fills between memories of any kind, whatever the call is called.

#include "standin/state/process.h"

namespace polypath::standin {

/// What a call says an end of a copy is: memory that the driver knows, or anything.
enum class End { known, any };

struct CopyCall {
  Address destination;
  Address source;
  Bytes bytes;
  End destination_end = End::any;
  End source_end = End::any;
};

/// Enqueues the copy, or makes it a node if the stream is captured. Between a GPU and pageable
/// memory it is complete when the call returns, as with CUDA.
void enqueue_copy(Process& process, const CopyCall& call, StreamArgument stream);

/// The same, complete when it returns; from a GPU to a GPU only if one of them has
/// CU_POINTER_ATTRIBUTE_SYNC_MEMOPS set: CUDA does not wait there.
void copy_now(Process& process, const CopyCall& call, StreamArgument stream);

/// Enqueues the filling of `count` elements.
void enqueue_fill(Process& process, Address destination, const std::vector<std::byte>& element,
                  std::uint64_t count, StreamArgument stream);

}  // namespace polypath::standin
