#include "driver/trace/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/text.h"

namespace polypath::trace {
namespace {

// The common part of the copies of one path.
struct PathTaken {
  std::set<PlaceId> sources, destinations;
  int chunks = 0;
};

using Paths = std::map<int, PathTaken>;

bool is_of_path(const Work& work) { return work.kind == Kind::copy && work.label.path >= 0; }

Paths paths_of(std::span<const Work> transfer) {
  Paths paths;
  for (const Work& work : transfer) {
    if (!is_of_path(work)) continue;
    PathTaken& path = paths[work.label.path];
    path.sources.insert(work.source);
    path.destinations.insert(work.destination);
    path.chunks = std::max(path.chunks, work.label.chunk + 1);
  }
  return paths;
}

// "gpu0 -> gpu1 via gpu2". A path that is no chain of two hops has the ends of the copy itself.
std::string way_of(const Work& work, const PathTaken* path, const PlaceNames& places) {
  const auto direct = [&] { return places(work.source) + " -> " + places(work.destination); };
  if (path == nullptr || path->sources.size() != 2 || path->destinations.size() != 2)
    return direct();
  const auto other_than = [](const std::set<PlaceId>& ends, const std::set<PlaceId>& relays) {
    return *std::find_if(ends.begin(), ends.end(),
                         [&](PlaceId place) { return !relays.contains(place); });
  };
  std::set<PlaceId> relays;
  std::set_intersection(path->sources.begin(), path->sources.end(), path->destinations.begin(),
                        path->destinations.end(), std::inserter(relays, relays.begin()));
  if (relays.size() != 1) return direct();
  return fmt::format("{} -> {} via {}", places(other_than(path->sources, relays)),
                     places(other_than(path->destinations, relays)), places(*relays.begin()));
}

const char* word_of(Kind kind) {
  switch (kind) {
    case Kind::copy: return "";
    case Kind::native: return ", one native copy";
    case Kind::reduction: return ", reduction";
    case Kind::kernel: return ", kernel";
    case Kind::graph: return ", graph";
  }
  return "";
}

std::string name_of(const Work& work, const PathTaken* path, const PlaceNames& places) {
  std::string name = work.kind == Kind::kernel ? places(work.source) : way_of(work, path, places);
  name += word_of(work.kind);
  if (work.kind == Kind::graph) name += fmt::format(" of {} nodes", work.copies);
  if (path != nullptr && path->chunks > 1)
    name += fmt::format(", chunk {} of {}", work.label.chunk + 1, path->chunks);
  return name + ", " + describe_bytes(work.bytes);
}

}  // namespace

std::vector<std::string> names_of(std::span<const Work> transfer, const PlaceNames& places) {
  const Paths paths = paths_of(transfer);
  std::vector<std::string> names;
  for (const Work& work : transfer) {
    const auto path = is_of_path(work) ? paths.find(work.label.path) : paths.end();
    names.push_back(name_of(work, path == paths.end() ? nullptr : &path->second, places));
  }
  return names;
}

std::vector<Relay> relays_of(std::span<const Work> transfer) {
  std::map<std::tuple<int, int, PlaceId>, std::size_t> arrivals;
  for (std::size_t i = 0; i < transfer.size(); ++i)
    if (const Work& work = transfer[i]; is_of_path(work))
      arrivals[{work.label.path, work.label.chunk, work.destination}] = i;
  std::vector<Relay> relays;
  for (std::size_t i = 0; i < transfer.size(); ++i) {
    const Work& work = transfer[i];
    if (!is_of_path(work)) continue;
    const auto arrived = arrivals.find({work.label.path, work.label.chunk, work.source});
    if (arrived != arrivals.end() && arrived->second != i) relays.push_back({arrived->second, i});
  }
  return relays;
}

}  // namespace polypath::trace
