#include "driver/trace/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json_text.json.h"

namespace polypath::trace {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostExact = 9007199254740992.0;  // 2^53

// Whole nanoseconds: no clock here knows more.
double microseconds(Seconds time) { return std::round(time.value * 1e9) * 1e-3; }

// Counts without a fraction.
Json number(double value) {
  const bool is_whole = std::abs(value) < kMostExact && value == std::floor(value);
  return is_whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

Json arguments_of(const std::vector<Detail>& details) {
  Json arguments = Json::object();
  for (const Detail& detail : details)
    arguments[detail.name] = detail.text.empty() ? number(detail.number) : Json(detail.text);
  return arguments;
}

std::string text_of(const Json& event) { return json_text(event); }

std::string metadata(const char* what, const Track& track, const Json& arguments) {
  return text_of({{"name", what},
                  {"ph", "M"},
                  {"pid", track.process},
                  {"tid", track.number},
                  {"args", arguments}});
}

// Perfetto ties an end of an arrow to the slice that is there at that time.
std::string arrow_end(const Arrow& arrow, const char* phase, const Track& track, Seconds time) {
  return text_of({{"name", arrow.name},
                  {"cat", "flow"},
                  {"ph", phase},
                  {"bp", "e"},
                  {"id", fmt::format("0x{:x}", arrow.id)},
                  {"pid", track.process},
                  {"tid", track.number},
                  {"ts", microseconds(time)}});
}

}  // namespace

std::string slice_event(const Slice& slice) {
  return text_of({{"name", slice.name},
                  {"cat", slice.category},
                  {"ph", "X"},
                  {"pid", slice.track.process},
                  {"tid", slice.track.number},
                  {"ts", microseconds(slice.begin)},
                  {"dur", microseconds(std::max(slice.end - slice.begin, Seconds{}))},
                  {"args", arguments_of(slice.details)}});
}

std::string work_event(const Work& work, const std::string& name, const Track& track) {
  const Seconds busy = work.finished - work.started;
  std::vector<Detail> details{
      {.name = "transfer", .number = static_cast<double>(work.label.transfer)},
      {.name = "path", .number = static_cast<double>(work.label.path)},
      {.name = "chunk", .number = static_cast<double>(work.label.chunk)},
      {.name = "bytes", .number = static_cast<double>(work.bytes.value)}};
  if (busy > Seconds{})
    details.push_back({.name = "bytes_per_second", .number = (work.bytes / busy).value});
  details.push_back({.name = "queued_us", .number = microseconds(work.started - work.ready)});
  return slice_event({.name = name,
                      .category = "copy",
                      .track = track,
                      .begin = work.started,
                      .end = work.finished,
                      .details = std::move(details)});
}

std::vector<std::string> arrow_events(const Arrow& arrow) {
  return {arrow_end(arrow, "s", arrow.from_track, arrow.from),
          arrow_end(arrow, "f", arrow.to_track, arrow.to)};
}

std::string process_event(std::int64_t process, const std::string& name) {
  return metadata("process_name", {process, 0}, {{"name", name}});
}

std::vector<std::string> track_events(const Track& track, const std::string& name, int place) {
  return {metadata("thread_name", track, {{"name", name}}),
          metadata("thread_sort_index", track, {{"sort_index", place}})};
}

std::string origin_event(std::int64_t process, std::int64_t unix_nanoseconds) {
  return metadata("polypath_origin", {process, 0}, {{"unix_nanoseconds", unix_nanoseconds}});
}

std::string summary_event(std::int64_t process, std::uint64_t written, std::uint64_t left_out) {
  return metadata("polypath_summary", {process, 0},
                  {{"pieces_of_work", written}, {"left_out", left_out}});
}

}  // namespace polypath::trace
