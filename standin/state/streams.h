#pragma once
// Streams and events as CUDA has them, over those of the runner: default streams, and the order
// between the legacy default stream and the others of its context.

#include <map>
#include <set>
#include <thread>

#include "standin/state/captures.h"
#include "standin/state/contexts.h"
#include "standin/state/runner.h"

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

struct Event {
  EventPointer handle = nullptr;
  ContextPointer context = nullptr;
  EventHandle work;
  unsigned flags = 0;
  bool recorded = false;
  Capturing captured;  ///< the last record was one of a capture
};

class Streams {
 public:
  /// A chaotic driver gives a new stream or event the pointer of one that is gone.
  Streams(Runner& runner, Contexts& contexts, bool chaotic)
      : runner_(runner), contexts_(contexts), streams_(1, chaotic), events_(2, chaotic) {}

  /// The work that making one more stream of the context waits for. H200s with driver 580 have room
  /// for so many at once; to get more room they wait for all work of the GPU, even work that the
  /// program holds back, and hold up other calls meanwhile (results/h200x1/held_streams.json).
  [[nodiscard]] Waiting release_memory(const Context& context);
  /// The work that an allocation that finds no room on the GPU waits for: all that is queued there,
  /// if streams were destroyed since the last time, to free the memory that they have left behind
  /// (H200, results/h200x1/full_memory.json).
  [[nodiscard]] Waiting collect(PlaceId gpu);
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

  Event& create_event(const Context& context, unsigned flags);
  void destroy_event(EventPointer event);
  Event& find_event(EventPointer event) { return events_.find(event); }
  /// The stream is ready for work, or being captured.
  void record(Event& event, Stream& stream);
  /// The kind of a wait of the stream for the event.
  static WorkKind kind_of_wait(const Stream& stream, const Event& event) {
    return stream.context == event.context ? WorkKind::wait : WorkKind::wait_elsewhere;
  }
  void wait(Stream& stream, const Event& event);
  /// The waiting for the event's work.
  Waiting finish(const Event& event);

  /// True if the work that `finish` waits for has finished.
  bool is_done(Stream& stream);
  bool is_done(const Event& event);

  /// The capture goes on in no stream.
  void leave(const Capture& capture) const;
  /// The streams in which the capture goes on.
  [[nodiscard]] std::vector<Stream*> streams_of(const Capture& capture) const;
  /// All streams, default ones too.
  [[nodiscard]] const auto& all() const { return streams_.all(); }

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
  Handles<Stream, StreamPointer> streams_;
  Handles<Event, EventPointer> events_;
  std::map<ContextPointer, StreamPointer> legacy_;
  std::map<std::pair<ContextPointer, std::thread::id>, StreamPointer> per_thread_;
  std::map<std::pair<StreamPointer, StreamPointer>, std::uint64_t> joined_;
  std::map<std::uint64_t, std::size_t> room_;  ///< for streams, by context
  std::set<PlaceId> left_behind_;              ///< GPUs of which streams were destroyed
};

}  // namespace polypath::standin
