// The machine as a file with every pattern expanded.

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json_text.json.h"
#include "machine/driver_fields.h"
#include "machine/load_machine.h"

namespace polypath::machine {
namespace {

using Json = nlohmann::ordered_json;

// A Machine keeps only the number, not the text of the file about it.
constexpr const char* kExpanded = "expanded";

const char* name_of(HopKind kind) {
  switch (kind) {
    case HopKind::peer: return "peer";
    case HopKind::host: return "host";
    case HopKind::driver_staged: return "driver_staged";
    case HopKind::network: return "network";
    case HopKind::network_staged: return "network_staged";
  }
  return "peer";
}

class Writer {
 public:
  Writer(const Machine& machine, const Provenance* provenance)
      : machine_(machine), provenance_(provenance) {}

  std::string text();

 private:
  // A number whose sentence is element `index` of `sentences`; `subject` names its source.
  Json quantity(double value, double nominal, const char* unit, const std::string& subject,
                const std::vector<std::string> Provenance::*sentences, std::size_t index);
  Json place(std::size_t index);
  Json resource(std::size_t index);
  Json burst(std::size_t index);
  Json hop(std::size_t index);
  [[nodiscard]] Json uses(const std::vector<Use>& uses) const;
  [[nodiscard]] Json network(const Network& network) const;
  Json costs();
  [[nodiscard]] Json driver() const;
  [[nodiscard]] const Machine& nominal() const {
    return provenance_ == nullptr ? machine_ : provenance_->nominal;
  }

  const Machine& machine_;
  const Provenance* provenance_;
  Json sources_ = Json::object();
};

Json Writer::quantity(double value, double nominal, const char* unit, const std::string& subject,
                      const std::vector<std::string> Provenance::*sentences, std::size_t index) {
  const bool measured = provenance_ != nullptr && !(provenance_->*sentences)[index].empty();
  Json json = {{"value", value}, {"unit", unit}, {"source", measured ? subject : kExpanded}};
  if (!measured) return json;
  json["nominal"] = nominal;
  sources_[subject] = (provenance_->*sentences)[index];
  return json;
}

Json Writer::place(std::size_t index) {
  const Place& place = machine_.places[index];
  const Place& before = nominal().places[index];
  const auto latency = [&](Seconds Place::*member) {
    return quantity((place.*member).value, (before.*member).value, "s", place.name + " staging",
                    &Provenance::places, index);
  };
  Json json = {{"name", place.name},
               {"kind", place.kind == PlaceKind::gpu ? "gpu" : "host"},
               {"model", place.model},
               {"numa_node", place.numa_node},
               {"staging_latency", latency(&Place::staging_latency)},
               {"relay_latency", latency(&Place::relay_latency)},
               {"busy_latency", latency(&Place::busy_latency)}};
  if (machine_.nodes() > 1) json["node"] = place.node;
  if (place.staging_missing) json["staging_missing"] = true;
  if (place.kind == PlaceKind::gpu) {  // never measured
    json["reduction_latency"] = {
        {"value", place.reduction_latency.value}, {"unit", "s"}, {"source", kExpanded}};
    json["reduction_bandwidth"] = {
        {"value", place.reduction_bandwidth.value}, {"unit", "B/s"}, {"source", kExpanded}};
  }
  return json;
}

Json Writer::resource(std::size_t index) {
  const Resource& resource = machine_.resources[index];
  Json json = {{"name", resource.name}, {"kind", resource.kind}};
  if (std::isfinite(resource.capacity.value))
    json["capacity"] =
        quantity(resource.capacity.value, nominal().resources[index].capacity.value, "B/s",
                 resource.name.substr(0, 180) + " capacity", &Provenance::resources, index);
  if (resource.burst.size.value > 0) json["burst"] = burst(index);
  if (resource.copies_at_once > 0) json["copies_at_once"] = resource.copies_at_once;
  return json;
}

// Where there was none before, its rate was the capacity and its size 0.
Json Writer::burst(std::size_t index) {
  const Resource& resource = machine_.resources[index];
  const Resource& before = nominal().resources[index];
  const double rate_before = before.rate_limit().peak();
  const std::string subject = resource.name.substr(0, 180) + " burst";
  return {{"rate", quantity(resource.burst.rate.value, rate_before, "B/s", subject,
                            &Provenance::bursts, index)},
          {"size", quantity(resource.burst.size.real(), before.burst.size.real(), "B", subject,
                            &Provenance::bursts, index)}};
}

Json Writer::uses(const std::vector<Use>& uses) const {
  Json json = Json::array();
  for (const Use& use : uses)
    json.push_back({{"resource", machine_.resource(use.resource).name}, {"weight", use.weight}});
  return json;
}

// Calibration measures none of it.
Json Writer::network(const Network& network) const {
  Json ends = Json::array();
  for (const NetworkEnd& end : network.ends)
    ends.push_back(
        {{"place", machine_.place(end.place).name}, {"out", uses(end.out)}, {"in", uses(end.in)}});
  return {
      {"latency", {{"value", network.latency.value}, {"unit", "s"}, {"source", kExpanded}}},
      {"bandwidth", {{"value", network.bandwidth.value}, {"unit", "B/s"}, {"source", kExpanded}}},
      {"ends", std::move(ends)}};
}

Json Writer::hop(std::size_t index) {
  const Hop& hop = machine_.hops[index];
  const Hop& before = nominal().hops[index];
  const std::string from = machine_.place(hop.source).name;
  const std::string to = machine_.place(hop.destination).name;
  const std::string pair = from + " to " + to;
  return {{"from", from},
          {"to", to},
          {"kind", name_of(hop.kind)},
          {"latency", quantity(hop.latency.value, before.latency.value, "s", pair + " latency",
                               &Provenance::latencies, index)},
          {"bandwidth", quantity(hop.bandwidth.value, before.bandwidth.value, "B/s",
                                 pair + " bandwidth", &Provenance::bandwidths, index)},
          {"uses", uses(hop.uses)}};
}

Json Writer::costs() {
  Json json = Json::object();
  const std::vector<CostField>& fields = cost_fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string name(fields[i].name);
    if (fields[i].optional && (machine_.costs.*fields[i].value).value == 0) continue;
    json[name] =
        quantity((machine_.costs.*fields[i].value).value, (nominal().costs.*fields[i].value).value,
                 "s", name + " cost", &Provenance::costs, i);
  }
  return json;
}

// Calibration measures none of it.
Json Writer::driver() const {
  Json json = Json::object();
  for (const DriverField& field : driver_fields()) {
    const char* unit = field.is<Seconds>()          ? "s"
                       : field.is<Bytes>()          ? "B"
                       : field.is<BytesPerSecond>() ? "B/s"
                                                    : "1";
    json[std::string(field.name)] = {
        {"value", field.value_in(machine_.driver)}, {"unit", unit}, {"source", kExpanded}};
  }
  return json;
}

std::string Writer::text() {
  Json json = {{"schema", "polypath.machine/1"},
               {"name", machine_.name},
               {"description", machine_.description}};
  sources_[kExpanded] = "Written by polypath from the machine '" + machine_.name +
                        "'; the file that it was read from says where each number is from, and "
                        "docs/machines.md what stands for one that it leaves out.";
  json["sources"] = nullptr;  // its place in the file; the numbers say what belongs there
  json["places"] = Json::array();
  json["resources"] = Json::array();
  json["hops"] = Json::array();
  for (std::size_t i = 0; i < machine_.places.size(); ++i) json["places"].push_back(place(i));
  for (std::size_t i = 0; i < machine_.resources.size(); ++i)
    json["resources"].push_back(resource(i));
  for (std::size_t i = 0; i < machine_.hops.size(); ++i) json["hops"].push_back(hop(i));
  json["costs"] = costs();
  json["driver"] = driver();
  if (machine_.network) json["network"] = network(*machine_.network);
  json["sources"] = std::move(sources_);
  return json_text(json, 1) + "\n";
}

}  // namespace

std::string machine_to_json(const Machine& machine) { return Writer(machine, nullptr).text(); }

std::string machine_to_json(const Machine& machine, const Provenance& provenance) {
  return Writer(machine, &provenance).text();
}

}  // namespace polypath::machine
