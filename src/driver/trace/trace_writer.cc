#include "driver/trace/trace_writer.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/process.h"
#include "core/text.h"

namespace polypath::trace {
namespace {

// Numbers of streams' tracks, beyond those of all threads.
constexpr std::int64_t kFirstStream = std::int64_t{1} << 30;
constexpr int kThreadsPlace = 0, kStreamsPlace = 1000;
constexpr Seconds kWorthShowing = 1_us;  // of a wait
constexpr int kProcessBits = 32;         // of an arrow's number, so that no two processes have it

// The work of one transfer that one thread has put into streams.
struct Issue {
  std::size_t first = 0;
  std::size_t pieces = 0;
  Bytes bytes = {};
  Seconds begin = Seconds::infinity();
  Seconds end = {};
};

std::string name_of(const Issue& issue, int path, const std::string& first) {
  if (issue.pieces == 1) return "issues " + first;
  const std::string pieces = "issues " + std::to_string(issue.pieces) + " pieces";
  if (path < 0) return pieces + ", first " + first;
  const std::string ends = first.substr(0, std::min(first.find(" via "), first.find(", ")));
  return pieces + " of " + ends + ", " + describe_bytes(issue.bytes);
}

std::vector<std::string> names_of_places(const Machine& machine) {
  std::vector<std::string> names;
  for (const Place& place : machine.places) names.push_back(place.name);
  return names;
}

// When the driver's clock says `now`, as it does.
std::int64_t unix_nanoseconds_at_origin(Seconds now) {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(now.value));
  return (std::chrono::duration_cast<std::chrono::nanoseconds>(time) - since).count();
}

// "python3 2251".
std::string process_label() { return program_name() + " " + std::to_string(getpid()); }

}  // namespace

TraceWriter::TraceWriter(Driver& driver, const Machine& machine, Streams& streams, Sink sink)
    : places_(names_of_places(machine)),
      streams_(streams),
      sink_(std::move(sink)),
      process_(getpid()) {
  const std::string host = driver.name() == "sim" ? machine.name + " (simulated)" : machine.name;
  events_ = {origin_event(process_, unix_nanoseconds_at_origin(driver.now())),
             process_event(process_, process_label() + " on " + host)};
}

Track TraceWriter::track_of_thread(std::int64_t thread) {
  const Track track{process_, thread};
  if (thread_tracks_.try_emplace(thread, true).second)
    for (std::string& event :
         track_events(track, "CPU thread " + std::to_string(thread), kThreadsPlace))
      events_.push_back(std::move(event));
  return track;
}

// A stream of Polypath's carries the copies over one hop.
Track TraceWriter::track_of(const TimedWork& timed) {
  const StreamHandle stream = timed.begun.stream;
  const auto number = kFirstStream + static_cast<std::int64_t>(stream_tracks_.size());
  const auto [entry, is_new] = stream_tracks_.try_emplace(stream, number);
  const Track track{process_, entry->second};
  if (!is_new) return track;
  const std::string& gpu = places_[timed.begun.gpu.index()];
  const bool own = streams_.is_own(stream);
  const std::string name = "stream " + std::to_string(stream_tracks_.size()) + " of " + gpu +
                           (own ? ": " + places_[timed.work.source.index()] + " -> " +
                                      places_[timed.work.destination.index()]
                                : " (the program's)");
  for (std::string& event :
       track_events(track, name, kStreamsPlace + static_cast<int>(stream_tracks_.size())))
    events_.push_back(std::move(event));
  return track;
}

void TraceWriter::write_slice(const Slice& slice) { events_.push_back(slice_event(slice)); }

void TraceWriter::write_arrow(const std::string& name, const Track& from_track, Seconds from,
                              const Track& to_track, Seconds to) {
  const std::uint64_t id = static_cast<std::uint64_t>(process_) << kProcessBits | ++next_arrow_;
  for (std::string& event : arrow_events({id, name, from_track, from, to_track, to}))
    events_.push_back(std::move(event));
}

void TraceWriter::write(const std::vector<TimedWork>& parts) {
  if (parts.empty()) return;
  std::vector<Work> works;
  for (const TimedWork& part : parts) works.push_back(part.work);
  const auto names = names_of(works, [this](PlaceId place) { return places_[place.index()]; });
  write_work(parts, names);
  write_issue(parts, names);
  write_arrows(parts, works);
  written_ += parts.size();
}

void TraceWriter::write_work(const std::vector<TimedWork>& parts,
                             const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    write_wait(parts[i], parts, names);
    events_.push_back(work_event(parts[i].work, names[i], track_of(parts[i])));
  }
}

// The time that the stream waits for other streams; else the work is only queued.
void TraceWriter::write_wait(const TimedWork& part, const std::vector<TimedWork>& parts,
                             const std::vector<std::string>& names) {
  const Work& work = part.work;
  if (part.begun.awaited.empty() || work.started - work.ready < kWorthShowing) return;
  Slice slice{.name = "waits",
              .category = "wait",
              .track = track_of(part),
              .begin = work.ready,
              .end = work.started};
  for (const Awaited& awaited : part.begun.awaited) {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const TimedWork& other) {
      return other.begun.stream == awaited.stream && other.work.label.path == awaited.label.path &&
             other.work.label.chunk == awaited.label.chunk &&
             other.work.label.transfer == awaited.label.transfer;
    });
    slice.details.push_back({.name = "for " + std::to_string(slice.details.size() + 1),
                             .text = found == parts.end()
                                         ? "earlier work"
                                         : names[static_cast<std::size_t>(found - parts.begin())]});
  }
  write_slice(slice);
}

// By thread: the copies of ranks that are threads may be of one transfer.
void TraceWriter::write_issue(const std::vector<TimedWork>& parts,
                              const std::vector<std::string>& names) {
  std::map<std::int64_t, Issue> issues;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const TimedWork& part = parts[i];
    Issue& issue = issues.try_emplace(part.thread, Issue{.first = i}).first->second;
    issue.begin = std::min(issue.begin, part.begun.at);
    issue.end = std::max(issue.end, part.issued);
    ++issue.pieces;
    // The bytes that leave the source are all the bytes to be moved.
    if (part.work.source == parts[issue.first].work.source) issue.bytes += part.work.bytes;
  }
  for (const auto& [thread, issue] : issues)
    write_slice({.name = name_of(issue, parts[issue.first].work.label.path, names[issue.first]),
                 .category = "issue",
                 .track = track_of_thread(thread),
                 .begin = issue.begin,
                 .end = issue.end});
}

// From the call to the first copy of each path, and from each chunk's first hop to its second.
void TraceWriter::write_arrows(const std::vector<TimedWork>& parts,
                               const std::vector<Work>& works) {
  const auto track = [&](std::size_t i) { return track_of(parts[i]); };
  std::map<int, std::size_t> first_of;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [first, is_new] = first_of.try_emplace(works[i].label.path, i);
    if (is_new)
      write_arrow("issue", track_of_thread(parts[i].thread), parts[i].begun.at, track(i),
                  works[i].started);
  }
  for (const Relay& relay : relays_of(works))
    write_arrow("chunk", track(relay.first), works[relay.first].started, track(relay.second),
                works[relay.second].started);
}

void TraceWriter::write(const std::vector<ThreadCall>& calls) {
  for (const auto& [thread, call] : calls)
    write_slice({.name = call.name,
                 .category = "call",
                 .track = track_of_thread(thread),
                 .begin = call.begin,
                 .end = call.end,
                 .details = call.details});
}

void TraceWriter::end(std::uint64_t left_out) {
  events_.push_back(summary_event(process_, written_, left_out));
}

void TraceWriter::flush() noexcept {
  sink_(events_);
  events_.clear();
}

}  // namespace polypath::trace
