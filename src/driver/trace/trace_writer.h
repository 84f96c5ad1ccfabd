#pragma once
// Converts recorded work to events.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "driver/trace/events.h"
#include "driver/trace/streams.h"
#include "driver/trace/timed_work.h"
#include "machine/machine.h"

namespace polypath::trace {

class TraceWriter {
 public:
  /// Takes events, as JSON texts.
  using Sink = std::function<void(const std::vector<std::string>&)>;

  /// Begins the trace. `streams` outlives it.
  TraceWriter(Driver& driver, const Machine& machine, Streams& streams, Sink sink);

  /// The work of a transfer, all of it over.
  void write(const std::vector<TimedWork>& parts);
  void write(const std::vector<ThreadCall>& calls);
  /// The last event.
  void end(std::uint64_t left_out);
  /// Hands all to the sink.
  void flush() noexcept;

 private:
  void write_work(const std::vector<TimedWork>& parts, const std::vector<std::string>& names);
  void write_wait(const TimedWork& part, const std::vector<TimedWork>& parts,
                  const std::vector<std::string>& names);
  void write_issue(const std::vector<TimedWork>& parts, const std::vector<std::string>& names);
  void write_arrows(const std::vector<TimedWork>& parts, const std::vector<Work>& works);
  void write_slice(const Slice& slice);
  void write_arrow(const std::string& name, const Track& from_track, Seconds from,
                   const Track& to_track, Seconds to);
  [[nodiscard]] Track track_of(const TimedWork& timed);
  [[nodiscard]] Track track_of_thread(std::int64_t thread);

  std::vector<std::string> places_;
  Streams& streams_;
  Sink sink_;
  std::int64_t process_;
  std::vector<std::string> events_;
  std::map<StreamHandle, std::int64_t> stream_tracks_;
  std::map<std::int64_t, bool> thread_tracks_;
  std::uint64_t next_arrow_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace polypath::trace
