#include "plan/tuned.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/files.h"
#include "core/json_reader.json.h"
#include "core/json_text.json.h"

namespace polypath::plan {
namespace {

constexpr Bytes kMostBytes = 16_MiB;
constexpr std::size_t kMostEntries = std::size_t{1} << 20;
constexpr std::size_t kLongestName = 192;
constexpr const char* kSchema = "polypath.tuned/1";

JsonComplaint complaint_about(const std::string& origin) {
  return {fmt::format("tuned file '{}'", origin), ErrorCode::invalid_setting,
          "Write it anew with 'polypath tune --output'."};
}

Executor executor_of(const JsonField& field) {
  const std::string name = field.text(kLongestName);
  if (name == "stream") return Executor::stream;
  if (name == "graph") return Executor::graph;
  field.reject(fmt::format("is '{}'", printable(name)), "only stream and graph have shares");
}

std::map<std::string, double> shares_of(const JsonField& field) {
  std::map<std::string, double> shares = field.numbers();
  double sum = 0;
  for (const auto& [path, share] : shares) sum += share >= 0 && share <= 1 ? share : 2;
  if (std::abs(sum - 1) > 1e-6)
    field.reject("cannot be a split", "each share lies from 0 to 1, and they add up to 1");
  return shares;
}

TunedEntry entry_of(const JsonField& field) {
  TunedEntry entry;
  entry.source = field.at("source").text(kLongestName);
  entry.destination = field.at("destination").text(kLongestName);
  entry.bytes = {field.at("bytes").count(1)};
  entry.executor = executor_of(field.at("executor"));
  entry.shares = shares_of(field.at("shares"));
  entry.chunks = field.at("chunks").integers(1, std::numeric_limits<int>::max());
  entry.speedup = field.at("speedup").number();
  if (const auto speedup = field.find("automatic_speedup"))
    entry.automatic_speedup = speedup->number();
  if (const auto tried = field.find("tried"))
    entry.tried = tried->integer(0, std::numeric_limits<int>::max());
  return entry;
}

}  // namespace

const TunedEntry* TunedTable::find(const std::string& source, const std::string& destination,
                                   Bytes bytes, Executor executor) const {
  const TunedEntry* nearest = nullptr;
  double nearest_distance = 1.0 + 1e-9;  // a factor 2, as a logarithm to base 2
  for (const TunedEntry& entry : entries) {
    if (entry.source != source || entry.destination != destination || entry.executor != executor)
      continue;
    const double distance = std::abs(std::log2(entry.bytes.real() / bytes.real()));
    if (distance < nearest_distance) nearest = &entry, nearest_distance = distance;
  }
  return nearest;
}

TunedTable parse_tuned(const std::string& text, const std::string& origin) {
  const JsonDocument document(text, complaint_about(origin), kMostBytes);
  const JsonField file = document.root();
  const JsonField schema = file.at("schema");
  if (const std::string said = schema.text(kLongestName); said != kSchema)
    schema.reject(fmt::format("is '{}'", printable(said)),
                  fmt::format("this version reads {}", kSchema));
  TunedTable table{file.at("machine").text(kLongestName), {}};
  for (const JsonField& entry : file.at("entries").elements(kMostEntries))
    table.entries.push_back(entry_of(entry));
  return table;
}

TunedTable read_tuned(const std::string& path) {
  const std::string why_not = why_unreadable(path);
  const auto text = why_not.empty() ? read_file(path, kMostBytes.value + 1) : std::nullopt;
  if (!text)
    fail(ErrorCode::invalid_setting, fmt::format("tuned file '{}' cannot be read", path),
         why_not.empty() ? "this user may not read it" : why_not, "Correct POLYPATH_TUNED.");
  return parse_tuned(*text, path);
}

std::string tuned_to_json(const TunedTable& table) {
  using Json = nlohmann::ordered_json;
  Json entries = Json::array();
  for (const TunedEntry& entry : table.entries)
    entries.push_back({{"source", entry.source},
                       {"destination", entry.destination},
                       {"bytes", entry.bytes.value},
                       {"executor", name_of(entry.executor)},
                       {"shares", entry.shares},
                       {"chunks", entry.chunks},
                       {"speedup", entry.speedup},
                       {"automatic_speedup", entry.automatic_speedup},
                       {"tried", entry.tried}});
  return json_text({{"schema", kSchema}, {"machine", table.machine}, {"entries", entries}}, 2);
}

}  // namespace polypath::plan
