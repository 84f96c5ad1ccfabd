#include "engine/load/node_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "core/hash.h"
#include "core/log.h"
#include "core/user_folder.h"
#include "driver/computer.h"

namespace polypath::engine {
namespace {

// "gpu0.egress" as others know it. Names that begin with no place's name stay as they are.
std::string node_wide(const Machine& machine, const std::vector<std::string>& place_names,
                      const std::string& resource) {
  for (std::size_t p = 0; p < machine.places.size(); ++p) {
    const std::string& name = machine.places[p].name;
    if (resource.starts_with(name + ".")) return place_names[p] + resource.substr(name.size());
  }
  return resource;
}

}  // namespace

NodeLedger::NodeLedger(const std::string& folder, const Machine& machine,
                       const std::vector<std::string>& place_names, Clock clock)
    : table_(folder), clock_(std::move(clock)) {
  Hash view;
  for (const std::string& name : place_names) {
    place_keys_.push_back(Hash().add(name).value());
    view.add(name);
  }
  view_ = view.value();
  for (const Resource& resource : machine.resources)
    resource_keys_.push_back(Hash().add(node_wide(machine, place_names, resource.name)).value());
}

std::optional<PlaceId> NodeLedger::place_of(std::uint64_t key) const {
  const auto found = std::find(place_keys_.begin(), place_keys_.end(), key);
  if (found == place_keys_.end()) return std::nullopt;
  return PlaceId{static_cast<int>(found - place_keys_.begin())};
}

double NodeLedger::now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

LedgerEntry NodeLedger::entry(PlaceId source, PlaceId destination, Bytes bytes,
                              const Load& load) const {
  LedgerEntry made;
  made.source = key_of(source);
  made.destination = key_of(destination);
  made.bytes = bytes.value;
  for (std::size_t r = 0; r < load.size() && made.uses < LedgerEntry::kMostUses; ++r)
    if (load[r].value > 0) made.use[made.uses++] = {resource_keys_[r], load[r].value};
  return made;
}

void NodeLedger::add(const LedgerEntry& entry, Load& load) const {
  load.resize(resource_keys_.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(entry.uses, LedgerEntry::kMostUses); ++i)
    for (std::size_t r = 0; r < resource_keys_.size(); ++r)
      if (resource_keys_[r] == entry.use[i].resource && entry.use[i].rate > 0)
        load[r].value += entry.use[i].rate;
}

std::unique_ptr<NodeLedger> open_node_ledger(const Machine& machine, const std::string& folder) {
  const Computer computer = look_at_computer();
  std::vector<std::string> names;
  for (const Place& place : machine.places) {
    const bool gpu = place.kind == PlaceKind::gpu && names.size() < computer.gpus.size();
    names.push_back(gpu ? computer.gpus[names.size()].bus_id
                        : fmt::format("memory of node {}", place.numa_node));
  }
  auto ledger =
      std::make_unique<NodeLedger>(folder.empty() ? usual_user_folder() : folder, machine, names);
  if (ledger->problem().empty()) return ledger;
  log(LogLevel::info,
      fmt::format("other processes' transfers are not known: {}", ledger->problem()));
  return nullptr;
}

}  // namespace polypath::engine
