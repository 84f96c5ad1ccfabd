#pragma once
// Streams that are made while a context is new, for when ours are needed.
//
// CUDA has room for so many streams of a context: 35, then 78, 163, … (H200, driver 580,
// results/h200x1/held_streams.json). To get more it waits for all that is queued there, and holds
// up other calls meanwhile: streams of ours that are made later would make the program's wait, or
// the other way round. So ours are made at once, and the program has no less room than it would
// have alone. They are never destroyed: CUDA collects the remains of destroyed streams when memory
// runs out, and for that it waits as well (results/h200x1/full_memory.json).

#include <cstdint>
#include <map>
#include <vector>

#include "core/brief_mutex.h"
#include "driver/cuda/cuda_types.h"

namespace polypath::cuda {

/// Thread-safe.
class StreamRoom {
 public:
  /// This process's, never destroyed.
  static StreamRoom& of_process();

  /// Those of a lane for each of 8 GPUs, times the lanes that there may be, are fewer; and what a
  /// context has room for at first.
  static constexpr std::size_t kBesideTheProgram = 40, kAlone = 32;

  /// Call for a context that is new, in which nothing waits; nothing happens the second time. Each
  /// stream takes half a MB of the GPU's memory. A stream that cannot be made now is made when it
  /// is needed.
  void make(ContextPointer context, std::size_t count) noexcept;
  /// One of the context's streams, non-blocking; null if there is none.
  StreamPointer take(ContextPointer context);
  /// Gives back a non-blocking stream of any maker; nothing of ours is in it any more.
  void give(ContextPointer context, StreamPointer stream);

 private:
  struct Streams {
    std::uint64_t context_id = 0;
    std::vector<StreamPointer> spare;
  };

  Streams& of(ContextPointer context);

  BriefMutex mutex_;
  std::map<ContextPointer, Streams> streams_;
};

}  // namespace polypath::cuda
