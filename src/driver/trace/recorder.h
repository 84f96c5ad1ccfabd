#pragma once
// Records what really runs in the streams of GPUs: when each copy began and ended, by timing events
// around it. A separate thread reads the events later, or they are read at the end. No call waits
// for them.
//
// Events of two GPUs have no common clock. So each GPU is given one now and then: an event a is put
// into a stream of its own, where nothing is before it, and the host's clock is read before (t0)
// and after (t1) it has happened. Of work between events b and e
//
//   started = (t0 + t1) / 2 + elapsed(a, b),   finished = started + elapsed(b, e),
//
// wrong by at most (t1 - t0) / 2, and less in comparison with other work of that GPU.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/background.h"
#include "driver/trace/inbox.h"
#include "driver/trace/open_transfers.h"
#include "driver/trace/spare_events.h"
#include "driver/trace/streams.h"
#include "driver/trace/timed_work.h"
#include "driver/trace/trace_writer.h"
#include "driver/trace/work.h"
#include "machine/machine.h"

namespace polypath::trace {

/// Thread-safe. Failures of the driver only mean that something is left out, which is counted.
class Recorder {
 public:
  using Sink = TraceWriter::Sink;

  /// The driver must outlive it.
  Recorder(Driver& driver, const Machine& machine, Sink sink, Limits limits = {});
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  /// The recorder that writes to the file of `pattern` (trace_file.h), made when first asked for
  /// and never destroyed; it is complete when the process ends by exit(). Null if the pattern is
  /// empty or the file cannot be written.
  static Recorder* of_process(Driver& driver, const Machine& machine, const std::string& pattern);
  /// The same if it has been made.
  static Recorder* of_process() noexcept;

  /// `group` tells the transfers of one opening from those of others.
  [[nodiscard]] std::optional<Begun> begin(StreamHandle stream) noexcept;
  void end(std::optional<Begun>& begun, const Work& work, int group) noexcept;
  /// It has not been put into the stream.
  void drop(std::optional<Begun>& begun) noexcept;
  void note(ProgramCall call) noexcept;
  [[nodiscard]] int new_group() { return ++groups_; }
  [[nodiscard]] Streams& streams() { return streams_; }
  [[nodiscard]] Driver& driver() { return driver_; }

  /// Writes what is over: of a transfer nothing before all of it is, so that chunks can be counted.
  void collect() noexcept;
  /// The same for everything, and nothing is recorded any more: contexts are about to go, or the
  /// process ends. Unfinished work is left out.
  void finish() noexcept;
  /// The contexts are gone: no event may be touched any more.
  void abandon() noexcept;
  /// Pieces that have not been written and will not be.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_.load(); }

 private:
  void watch();
  void end_trace();
  void write_complete(bool all);
  template <class Action>
  void carefully(Action action) noexcept;
  [[nodiscard]] bool is_mine() const noexcept;

  Driver& driver_;
  int generation_;
  std::atomic<bool> on_{true};
  std::atomic<int> groups_{0};
  std::atomic<std::uint64_t> left_out_{0};
  Streams streams_;
  SpareEvents spare_;
  Inbox inbox_;
  std::mutex collecting_;  ///< of the next two: held by the reader and writer
  OpenTransfers transfers_;
  TraceWriter writer_;
  std::unique_ptr<Background> background_;
};

}  // namespace polypath::trace
