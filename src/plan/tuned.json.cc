#include "plan/tuned.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/files.h"

namespace polypath {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

using Json = nlohmann::json;

Executor executor_of(const std::string& name) {
  if (name == "stream") return Executor::stream;
  if (name == "graph") return Executor::graph;
  throw std::invalid_argument("executor '" + name + "' is neither stream nor graph");
}

// A number that is no whole one would be rounded or wrap around.
template <class Number>
Number whole_number(const Json& json, const std::string& what) {
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() == 0 ||
      !std::in_range<Number>(json.get<std::uint64_t>()))
    throw std::invalid_argument(what + " is not a whole number of at least 1");
  return json.get<Number>();
}

void check_shares(const TunedEntry& entry) {
  double sum = 0;
  for (const auto& [path, share] : entry.shares) sum += share >= 0 && share <= 1 ? share : 2;
  if (std::abs(sum - 1) > 1e-6)
    throw std::invalid_argument("the shares of an entry do not add up to 1");
}

TunedEntry entry_of(const Json& json) {
  TunedEntry entry;
  entry.source = json.at("source");
  entry.destination = json.at("destination");
  entry.bytes = {whole_number<std::uint64_t>(json.at("bytes"), "'bytes'")};
  entry.executor = executor_of(json.at("executor"));
  entry.shares = json.at("shares").get<std::map<std::string, double>>();
  for (const auto& [path, count] : json.at("chunks").items())
    entry.chunks[path] = whole_number<int>(count, "the chunk count of '" + path + "'");
  entry.speedup = json.at("speedup");
  check_shares(entry);
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
  try {
    const Json json = Json::parse(text);
    if (json.at("schema") != "polypath.tuned/1")
      throw std::invalid_argument("its schema is not polypath.tuned/1");
    TunedTable table{json.at("machine"), {}};
    for (const Json& entry : json.at("entries")) table.entries.push_back(entry_of(entry));
    return table;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    fail(ErrorCode::invalid_setting, fmt::format("tuned file '{}' cannot be used", origin),
         error.what(), "Write it anew with 'polypath tune --output'.");
  }
}

TunedTable read_tuned(const std::string& path) {
  const auto text = read_file(path, kMostBytes);
  if (!text)
    fail(ErrorCode::invalid_setting, fmt::format("tuned file '{}' cannot be opened", path),
         "there is no such file or it is not readable", "Correct POLYPATH_TUNED.");
  return parse_tuned(*text, path);
}

std::string tuned_to_json(const TunedTable& table) {
  Json entries = Json::array();
  for (const TunedEntry& entry : table.entries)
    entries.push_back({{"source", entry.source},
                       {"destination", entry.destination},
                       {"bytes", entry.bytes.value},
                       {"executor", name_of(entry.executor)},
                       {"shares", entry.shares},
                       {"chunks", entry.chunks},
                       {"speedup", entry.speedup}});
  return Json{{"schema", "polypath.tuned/1"}, {"machine", table.machine}, {"entries", entries}}
      .dump(2);
}

}  // namespace polypath
