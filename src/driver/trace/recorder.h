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
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/background.h"
#include "driver/trace/events.h"
#include "driver/trace/gpu_clocks.h"
#include "driver/trace/streams.h"
#include "driver/trace/work.h"
#include "machine/machine.h"

namespace polypath::trace {

/// Work whose beginning has been recorded; none for work that is not timed.
struct Begun {
  StreamHandle stream;
  PlaceId gpu;
  EventHandle event;
  Seconds at;  ///< by the host's clock
  std::vector<Awaited> awaited;
  bool counted = false;  ///< it is in flight
};

/// A call of the program.
struct ProgramCall {
  std::string name;
  Seconds begin;
  Seconds end;
  std::vector<Detail> details = {};
};

/// How much is kept at most.
struct Limits {
  std::size_t in_flight = 8192;  ///< pieces of work that are not written yet
  std::size_t calls = 8192;      ///< the same
};

/// Thread-safe. Failures of the driver only mean that something is left out, which is counted.
class Recorder {
 public:
  /// Takes events, as JSON texts.
  using Sink = std::function<void(const std::vector<std::string>&)>;

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
  /// Work on its way.
  struct Timed {
    Work work;
    Begun begun;
    EventHandle end;
    Seconds issued;  ///< its call was over then
    int group = 0;
    std::int64_t thread = 0;
    bool over = false;
  };
  /// Pieces that are written together.
  struct Transfer {
    std::vector<Timed> parts;
    std::size_t looked_at = 0;  ///< parts that there were the last time
  };
  using TransferKey = std::pair<int, std::uint64_t>;

  void watch();
  void end_trace();
  void take_new();
  void read_all();
  [[nodiscard]] bool read(Timed& timed);
  void write_complete(bool all);
  void write(const std::vector<Timed>& parts);
  void write_work(const std::vector<Timed>& parts, const std::vector<std::string>& names);
  void write_wait(const Timed& part, const std::vector<Timed>& parts,
                  const std::vector<std::string>& names);
  void write_issue(const std::vector<Timed>& parts, const std::vector<std::string>& names);
  void write_arrows(const std::vector<Timed>& parts, const std::vector<Work>& works);
  void write_calls();
  void write_slice(const Slice& slice);
  void write_arrow(const std::string& name, const Track& from_track, Seconds from,
                   const Track& to_track, Seconds to);
  [[nodiscard]] Track track_of(const Timed& timed);
  [[nodiscard]] Track track_of_thread(std::int64_t thread);
  void flush() noexcept;
  void give_back(const Timed& timed) noexcept;
  void give_back(PlaceId gpu, EventHandle event) noexcept;
  [[nodiscard]] EventHandle take_event(PlaceId gpu);
  template <class Action>
  void carefully(Action action) noexcept;
  [[nodiscard]] bool is_mine() const noexcept;

  Driver& driver_;
  std::vector<std::string> places_;
  Sink sink_;
  Limits limits_;
  std::int64_t process_;
  int generation_;
  std::atomic<bool> on_{true};
  std::atomic<int> groups_{0};
  std::atomic<std::size_t> in_flight_{0};
  std::atomic<std::uint64_t> left_out_{0};
  Streams streams_;

  std::mutex mutex_;  ///< of the next three
  std::map<PlaceId, std::vector<EventHandle>> spare_;
  std::vector<Timed> new_;
  std::vector<std::pair<std::int64_t, ProgramCall>> calls_;

  std::mutex collecting_;  ///< of the rest: held by the reader and writer
  GpuClocks clocks_;
  std::map<TransferKey, Transfer> transfers_;
  std::uint64_t next_single_ = 0;
  std::vector<std::string> events_;
  std::map<StreamHandle, std::int64_t> stream_tracks_;
  std::map<std::int64_t, bool> thread_tracks_;
  std::uint64_t next_arrow_ = 0;
  std::uint64_t written_ = 0;
  std::unique_ptr<Background> background_;
};

}  // namespace polypath::trace
