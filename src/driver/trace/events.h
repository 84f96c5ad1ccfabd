#pragma once
// Events of the trace event format, which Perfetto and chrome://tracing open, as JSON texts. Times
// are microseconds there. A process is what has a number `process`; its tracks are CPU threads and
// streams of GPUs, or the hops of a simulated machine.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "driver/trace/work.h"

namespace polypath::trace {

/// Where an event is shown.
struct Track {
  std::int64_t process = 1;
  std::int64_t number = 0;
};

/// Something else that a slice says of itself.
struct Detail {
  std::string name;
  std::string text = {};  ///< or, if empty, the number
  double number = 0;
};

/// Something that takes time.
struct Slice {
  std::string name;
  std::string category;
  Track track;
  Seconds begin;  ///< since the trace's own origin
  Seconds end;
  std::vector<Detail> details = {};
};

std::string slice_event(const Slice& slice);
/// The slice of a piece of work, with its size, bandwidth and how long it was queued.
std::string work_event(const Work& work, const std::string& name, const Track& track);

/// An arrow from the slice that begins at `from` to the slice that begins at `to`.
struct Arrow {
  std::uint64_t id = 0;  ///< no other arrow's
  std::string name;
  Track from_track;
  Seconds from;
  Track to_track;
  Seconds to;
};

/// Both ends of it.
std::vector<std::string> arrow_events(const Arrow& arrow);

std::string process_event(std::int64_t process, const std::string& name);
/// Tracks are shown by their `place` from the top.
std::vector<std::string> track_events(const Track& track, const std::string& name, int place);
/// The header of a process's trace: when its origin was, on the system's clock, in nanoseconds
/// since 1970; and at the end, what is missing in it.
std::string origin_event(std::int64_t process, std::int64_t unix_nanoseconds);
std::string summary_event(std::int64_t process, std::uint64_t written, std::uint64_t left_out);

}  // namespace polypath::trace
