#pragma once
// Streams as CUDA has them, over those of the runner: default streams, and the order between the
// legacy default stream and the others of its context.

#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "standin/state/captures.h"
#include "standin/state/contexts.h"
#include "standin/state/handles.h"
#include "standin/state/runner.h"
#include "standin/state/stream_memory.h"

namespace polypath::standin {

/// A stream as the program passes it.
struct StreamArgument {
  StreamPointer stream = nullptr;
  DefaultStream zero = DefaultStream::legacy;
};

struct Stream {
  StreamPointer handle = nullptr;
  ContextPointer context = nullptr;
  StreamHandle work;     ///< the runner's
  bool blocking = true;  ///< in order with the legacy default stream
  bool legacy = false;   ///< that stream itself
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t used = 0;  ///< pieces of work so far
  Capturing capturing;
};

class Streams {
 public:
  /// A chaotic driver gives a new stream the pointer of one that is gone.
  Streams(Runner& runner, Contexts& contexts, bool chaotic)
      : runner_(runner), contexts_(contexts), memory_(runner), streams_(1, chaotic) {}

  Stream& create(const Context& context, unsigned flags, int priority);
  void destroy(StreamPointer stream);
  /// The stream that the program means; default streams are the current context's, made when first
  /// used. Refuses (invalid handle, invalid context).
  Stream& find(StreamArgument argument);
  /// Call before work is put into the stream: joins it with the default stream's as CUDA says.
  void order(Stream& stream);
  /// A copy in the legacy default stream between two GPUs' memories comes after what either GPU was
  /// given before and before what it is given later (CUDA C++ Programming Guide, "Peer-to-Peer
  /// Memory Copy"). Call both for the contexts of the memories, before and after the copy is put
  /// into it.
  void come_after(Stream& legacy, ContextPointer context);
  void hold_back(ContextPointer context, const Stream& legacy);
  /// The waiting for all work in the stream; for the legacy default stream, also for all work that
  /// it is in order with. An empty blocking stream does not wait for the legacy one, as seen on
  /// H200.
  Waiting finish(Stream& stream);
  Waiting finish_all(ContextPointer context);
  /// True if the work that `finish` waits for has finished.
  bool is_done(Stream& stream);

  /// The capture goes on in no stream.
  void leave(const Capture& capture) const;
  /// The streams in which the capture goes on.
  [[nodiscard]] std::vector<Stream*> streams_of(const Capture& capture) const;
  /// How many streams the context has, but for its legacy default one.
  [[nodiscard]] std::size_t count(const Context& context) const;
  /// All streams, default ones too.
  [[nodiscard]] const auto& all() const { return streams_.all(); }
  [[nodiscard]] StreamMemory& memory() { return memory_; }

  /// Gives up everything of a context.
  void remove_all(ContextPointer context);

 private:
  Stream& add(ContextPointer context, StreamHandle work, unsigned flags);
  Stream& default_stream(const Context& context, DefaultStream which);
  [[nodiscard]] std::vector<Stream*> in_order_with(const Stream& stream) const;
  [[nodiscard]] std::vector<StreamHandle> awaited_with(const Stream& stream) const;
  void join(Stream& later, const Stream& earlier);
  void give_up(const Stream& stream);

  Runner& runner_;
  Contexts& contexts_;
  StreamMemory memory_;
  Handles<Stream, StreamPointer> streams_;
  std::map<ContextPointer, StreamPointer> legacy_;
  std::map<std::pair<ContextPointer, std::thread::id>, StreamPointer> per_thread_;
  std::map<std::pair<StreamPointer, StreamPointer>, std::uint64_t> joined_;
};

}  // namespace polypath::standin
