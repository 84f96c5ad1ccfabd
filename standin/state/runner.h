#pragma once
// Runs the work of streams: in virtual time (virtual_time/), or in real time and in any order that
// CUDA's rules allow (chaos/). Everything else of the stand-in (contexts, captures, pointers,
// handles between processes) is the same over both.
//
// Called under the lock that every call of the stand-in takes; the waitings that it hands out are
// called without. Errors as of Driver.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "driver/sim/memory.h"
#include "machine/machine.h"
#include "standin/abi.h"
#include "standin/facts/settings.h"
#include "standin/state/work.h"

namespace polypath::standin {

/// How many copies went one way, and their bytes.
struct Moved {
  std::uint64_t copies = 0;
  std::uint64_t bytes = 0;
};

class Runner {
 public:
  Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  virtual ~Runner() = default;

  // Memory that work may touch
  virtual Address allocate(PlaceId host, Bytes bytes) = 0;
  virtual Address adopt(PlaceId place, Bytes bytes, std::unique_ptr<sim::Backing> backing) = 0;
  virtual void free(Address base) = 0;

  // Streams and events
  /// Of a context; a default stream shares no queue of the hardware with others.
  virtual StreamHandle create_stream(PlaceId gpu, ContextPointer context, bool by_default) = 0;
  /// Does not wait: queued work runs to its end.
  virtual void destroy_stream(StreamHandle stream) = 0;
  virtual EventHandle create_event(PlaceId gpu) = 0;
  virtual void destroy_event(EventHandle event) = 0;
  /// The work that a call has to wait for before it can put anything into the stream.
  virtual Waiting room_in(StreamHandle stream, WorkKind kind) = 0;
  virtual void record(EventHandle event, StreamHandle stream) = 0;
  virtual void wait(StreamHandle stream, EventHandle event, WorkKind kind) = 0;
  /// Later work of `later` comes after all work that is in `earlier` now, or that would come before
  /// the next work of `earlier`.
  virtual void join(StreamHandle later, StreamHandle earlier) = 0;

  // Work. The call waits for the returned waiting before it returns.
  virtual Waiting copy(const MemoryCopy& copy, Returns returns, StreamHandle stream) = 0;
  /// `bytes` is a multiple of the pattern's length.
  virtual Waiting fill(Address destination, Bytes bytes, const std::vector<std::byte>& pattern,
                       Returns returns, StreamHandle stream) = 0;
  virtual void call(std::function<void()> function, StreamHandle stream) = 0;
  virtual void wait_for_value(const MemoryValue& value, StreamHandle stream) = 0;
  virtual void write_value(const MemoryValue& value, StreamHandle stream) = 0;
  /// Whether it has something in a kernel's place.
  [[nodiscard]] virtual bool knows_kernel(const std::string& name) const = 0;
  virtual void run(const KernelWork& kernel, StreamHandle stream) = 0;

  // Graphs of copies
  virtual GraphHandle instantiate(const std::vector<CopyNode>& nodes) = 0;
  virtual void update_node(GraphHandle graph, int node, const CopyNode& changed) = 0;
  virtual void launch(GraphHandle graph, StreamHandle stream) = 0;
  virtual void destroy_graph(GraphHandle graph) = 0;

  // Asking and waiting
  /// True if all that is in these streams has finished.
  virtual bool is_done(const std::vector<StreamHandle>& streams) = 0;
  /// True if the event's work has finished, or it was never recorded.
  virtual bool is_done(EventHandle event) = 0;
  virtual Waiting finish(const std::vector<StreamHandle>& streams) = 0;
  virtual Waiting finish(EventHandle event) = 0;
  /// The waiting for all of a context: its streams, and work of other contexts that keeps its GPU
  /// busy.
  virtual Waiting finish_context(const std::vector<StreamHandle>& streams, PlaceId gpu) = 0;
  /// The waiting for all work that must not find memory of the context given back.
  virtual Waiting finish_before_free(ContextPointer context, PlaceId gpu) = 0;
  /// The waiting for all work of the GPU.
  virtual Waiting finish_gpu(PlaceId gpu) = 0;
  /// When the event's work had finished; nothing if it has not, or there is no work.
  [[nodiscard]] virtual std::optional<Seconds> finished_at(EventHandle event) = 0;

  // The end
  /// Starts nothing any more; waiting threads learn that the driver shuts down. Any thread may call
  /// it.
  virtual void stop() = 0;
  /// The program's errors, as far as they were noticed.
  [[nodiscard]] virtual std::vector<std::string> violations() const = 0;
  /// The copies so far, if statistics are wanted, by their way in words.
  [[nodiscard]] virtual std::map<std::string, Moved> moved() const = 0;
};

/// The one that the settings choose.
std::unique_ptr<Runner> make_runner(const Machine& machine, const StandInSettings& settings);

/// True on a thread that runs functions of the program, where CUDA's own may be refused.
bool& calls_are_forbidden();

/// "gpu0 to host0", "within one place".
std::string way_between(const Machine& machine, PlaceId source, PlaceId destination);

}  // namespace polypath::standin
