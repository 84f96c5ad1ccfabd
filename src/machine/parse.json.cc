// From the text of a machine file to a Machine: everything but the hops. docs/machines.md describes
// the format, machines/schema.json says the same to other tools.

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/error.h"
#include "machine/load_machine.h"
#include "machine/machine_reader.h"
#include "machine/pattern.h"

namespace polypath {
namespace {

constexpr std::string_view kSchema = "polypath.machine/1";
// 1 MB/s to 100 TB/s: a number outside is a slip of the unit.
constexpr double kSlowest = 1e6;
constexpr double kFastest = 1e14;

constexpr std::array kTimes = {Unit{"s", 1}, Unit{"ms", 1e-3}, Unit{"us", 1e-6}, Unit{"ns", 1e-9}};
constexpr std::array kRates = {Unit{"B/s", 1}, Unit{"MB/s", 1e6}, Unit{"GB/s", 1e9},
                               Unit{"GiB/s", 1073741824.0}};
constexpr double kLargest = 1099511627776.0;

JsonComplaint complaint_about(std::string_view origin) {
  return {std::string(origin), ErrorCode::invalid_machine,
          "Correct it; docs/machines.md describes the format."};
}

// With the file's own unit, in which its author looks for the mistake.
std::string as_written(const JsonField& field) {
  return fmt::format("is {} {}", field.at("value").number(), field.at("unit").text(kLongestName));
}

}  // namespace

Machine MachineReader::read() {
  file_.allow_only({"schema", "name", "description", "sources", "places", "resources", "hops",
                    "costs", "driver", "network"});
  read_head();
  for (const JsonField& place : file_.at("places").elements(kMostPlaces)) read_place(place);
  for (const JsonField& entry : file_.at("resources").elements(kMostEntries)) read_resource(entry);
  for (const JsonField& entry : file_.at("hops").elements(kMostEntries)) read_hop_entry(entry);
  for (auto& [pair, hop] : hops_) machine_.hops.push_back(std::move(hop));
  read_costs(file_.at("costs"));
  if (file_.has("driver")) read_driver(file_.at("driver"));
  if (file_.has("network")) read_network(file_.at("network"));
  return std::move(machine_);
}

void MachineReader::read_head() {
  const JsonField schema = file_.at("schema");
  const std::string said = schema.text(kLongestName);
  if (said != kSchema)
    schema.reject(fmt::format("is '{}'", printable(said)),
                  fmt::format("this version reads {}", kSchema));
  machine_.name = file_.at("name").text(kLongestName);
  if (!is_machine_name(machine_.name))
    file_.at("name").reject(fmt::format("is '{}'", printable(machine_.name)),
                            "a machine's name has letters, digits and _.-:");
  machine_.description = file_.at("description").text(kLongestSentence);
  for (const auto& [key, source] : file_.at("sources").members()) {
    source.check_text(kLongestSentence);
    sources_.insert(key);
  }
}

double MachineReader::quantity(const JsonField& field, const char* what,
                               std::span<const Unit> units, bool nominally) {
  field.allow_only({"value", "unit", "source", "nominal", "note"});
  field.check_note(kLongestSentence);
  const std::string source = field.at("source").text(kLongestName);
  if (!sources_.contains(source))
    field.at("source").reject(fmt::format("is '{}'", printable(source)),
                              "it must be one of the keys of /sources");
  const std::string wanted = field.at("unit").text(kLongestName);
  const double value = field.at("value").number();
  const double nominal = field.has("nominal") ? field.at("nominal").number() : value;
  const double chosen = nominal_ || nominally ? nominal : value;
  if (field.has("nominal")) has_nominal_ = true;
  std::vector<std::string_view> names;
  for (const Unit& unit : units) {
    if (unit.name == wanted) return chosen * unit.factor;
    names.push_back(unit.name);
  }
  field.at("unit").reject(fmt::format("is '{}'", printable(wanted)),
                          fmt::format("the units of a {} are {}", what, fmt::join(names, ", ")));
}

Seconds MachineReader::duration(const JsonField& field, bool nominal) {
  const double seconds = quantity(field, "time", kTimes, nominal);
  if (!(seconds >= 0 && seconds <= 1))
    field.at("value").reject(as_written(field), "a time lies between 0 and 1 s");
  return {seconds};
}

BytesPerSecond MachineReader::rate(const JsonField& field) {
  const double rate = quantity(field, "bandwidth", kRates, false);
  if (!(rate >= kSlowest && rate <= kFastest))
    field.at("value").reject(as_written(field), "a bandwidth lies between 1 MB/s and 100 TB/s");
  return {rate};
}

Bytes MachineReader::size(const JsonField& field) {
  const double bytes = quantity(field, "size", kSizes, false);
  if (!(bytes >= 0 && bytes <= kLargest && bytes == std::floor(bytes)))
    field.at("value").reject(as_written(field),
                             "a size is a whole number of bytes from 0 to 1 TiB");
  return {static_cast<std::uint64_t>(bytes)};
}

void MachineReader::read_place(const JsonField& field) {
  field.allow_only({"name", "kind", "model", "numa_node", "staging_latency", "staging_missing",
                    "relay_latency", "busy_latency", "reduction_latency", "reduction_bandwidth",
                    "node", "note"});
  field.check_note(kLongestSentence);
  Place place;
  const std::string kind = field.at("kind").text(kLongestName);
  if (kind != "gpu" && kind != "host")
    field.at("kind").reject(fmt::format("is '{}'", printable(kind)), "a place is a gpu or a host");
  place.kind = kind == "gpu" ? PlaceKind::gpu : PlaceKind::host;
  place.model = field.at("model").text(kLongestName);
  read_latencies(field, place);
  if (field.has("node")) place.node = field.at("node").integer(0, kMostPlaces - 1);
  const JsonField node = field.at("numa_node");
  const bool numbered = node.is_text() && node.text(kLongestName) == "{index}";
  if (!numbered) place.numa_node = node.integer(0, 1023);
  add_places(field.at("name"), std::move(place), numbered);
}

// Calibrations of old wrote down 0 where they had found no staging latency.
void MachineReader::read_latencies(const JsonField& field, Place& place) {
  const JsonField staging = field.at("staging_latency");
  const bool said = field.has("staging_missing") && field.at("staging_missing").flag();
  const bool nothing_found = staging.has("nominal") && staging.at("nominal").number() > 0 &&
                             staging.at("value").number() == 0;
  place.staging_missing = !nominal_ && (said || nothing_found);
  const auto latency = [&](const char* key, Seconds otherwise) {
    return field.has(key) ? duration(field.at(key), place.staging_missing) : otherwise;
  };
  place.staging_latency = latency("staging_latency", {});
  place.relay_latency = latency("relay_latency", place.staging_latency);
  place.busy_latency = field.has("busy_latency") ? duration(field.at("busy_latency")) : Seconds{};
  if (field.has("reduction_latency"))
    place.reduction_latency = duration(field.at("reduction_latency"));
  if (field.has("reduction_bandwidth"))
    place.reduction_bandwidth = rate(field.at("reduction_bandwidth"));
}

void MachineReader::add_places(const JsonField& field, Place place, bool numbered) {
  const auto names = expand_range(field.text(kLongestName), kMostPlaces);
  if (names.empty() || machine_.places.size() + names.size() > kMostPlaces)
    field.reject("stands for no place or for too many",
                 "write gpu0 or gpu[0-3]; a machine has at most 64 places");
  for (const auto& [name, number] : names) {
    // "host" is short for the nearest host place and "direct" for the path without a stage.
    const bool reserved = name == "host" || name == "direct";
    if (!is_place_name(name) || reserved)
      field.reject(fmt::format("is '{}'", printable(name)),
                   "a place has a name such as gpu0; host and direct are taken");
    if (!select_places(machine_.places, name).empty())
      field.reject(fmt::format("is '{}' again", name), "places are told apart by name");
    place.name = name;
    if (numbered) place.numa_node = number;
    machine_.places.push_back(place);
  }
}

void MachineReader::read_resource(const JsonField& field) {
  field.allow_only({"name", "kind", "capacity", "burst", "copies_at_once", "note"});
  field.check_note(kLongestSentence);
  Resource resource;
  resource.kind = field.at("kind").text(kLongestName);
  if (field.has("copies_at_once"))
    resource.copies_at_once = field.at("copies_at_once").integer(1, 1024);
  if (field.has("capacity")) resource.capacity = rate(field.at("capacity"));
  if (!field.has("capacity") && !field.has("copies_at_once"))
    field.reject("has neither capacity nor copies_at_once", "it would limit nothing");
  if (field.has("burst")) {
    if (!field.has("capacity"))
      field.at("burst").reject("has no capacity beside it", "a burst goes beyond a capacity");
    resource.burst = burst(field.at("burst"), resource);
  }
  const JsonField name = field.at("name");
  const auto names = expand_resource_name(machine_.places, name.text(kLongestName));
  if (names.empty())
    name.reject("stands for no resource", "no place matches what is before the dot");
  for (const std::string& each : names) {
    resource.name = each;
    add_resource(name, resource);
  }
}

// A calibrated burst may have been none before: its nominal size is then 0.
Burst MachineReader::burst(const JsonField& field, const Resource& resource) {
  field.allow_only({"rate", "size", "note"});
  field.check_note(kLongestSentence);
  const Burst burst{rate(field.at("rate")), size(field.at("size"))};
  if (burst.size.value == 0) return {};
  if (!(burst.rate > resource.capacity))
    field.at("rate").reject(fmt::format("is {:.4g} GB/s", burst.rate.value / 1e9),
                            fmt::format("a burst is faster than the capacity, which is {:.4g} GB/s",
                                        resource.capacity.value / 1e9));
  return burst;
}

void MachineReader::add_resource(const JsonField& field, const Resource& resource) {
  if (!is_resource_name(resource.name))
    field.reject(fmt::format("is '{}'", printable(resource.name)),
                 "a resource's name has letters, digits and _.-");
  const ResourceId id{static_cast<std::int32_t>(machine_.resources.size())};
  if (id.index() >= kMostEntries)
    field.reject("is one too many", "a machine has at most 4096 resources");
  if (!resources_.emplace(resource.name, id).second)
    field.reject(fmt::format("gives '{}' again", printable(resource.name)),
                 "resources are told apart by name");
  machine_.resources.push_back(resource);
}

void MachineReader::read_costs(const JsonField& field) {
  CallCosts& costs = machine_.costs;
  field.allow_only({"copy", "event_record", "event_wait", "synchronize", "graph_launch",
                    "graph_launch_node", "graph_instantiate", "graph_instantiate_node",
                    "graph_update_node", "threads_hold_up", "note"});
  field.check_note(kLongestSentence);
  for (const CostField& cost : cost_fields())
    if (!cost.optional || field.has(cost.name)) costs.*cost.value = duration(field.at(cost.name));
}

Machine parse_machine(std::string_view json, std::string_view origin) {
  const JsonDocument document(json, complaint_about(origin));
  const JsonField file = document.root();
  Machine machine = MachineReader(file).read();
  validate(machine);
  return machine;
}

std::optional<Machine> parse_nominal_machine(std::string_view json, std::string_view origin) {
  const JsonDocument document(json, complaint_about(origin));
  const JsonField file = document.root();
  MachineReader reader(file, true);
  Machine machine = reader.read();
  if (!reader.has_nominal()) return std::nullopt;
  validate(machine);
  return machine;
}

}  // namespace polypath
