// From the text of a machine file to a Machine. docs/machines.md describes the format,
// machines/schema.json says the same to other tools.

#include <fmt/format.h>

#include "core/error.h"
#include "machine/load_machine.h"
#include "machine/machine_reader.h"
#include "machine/pattern.h"

namespace polypath::machine {
namespace {

constexpr std::string_view kSchema = "polypath.machine/1";
JsonComplaint complaint_about(std::string_view origin) {
  return {std::string(origin), ErrorCode::invalid_machine,
          "Correct it; docs/machines.md describes the format."};
}

}  // namespace

Machine MachineReader::read() {
  file_.allow_only({"schema", "name", "description", "sources", "places", "resources", "hops",
                    "costs", "driver", "network"});
  read_head();
  PlaceReader places(machine_, quantities_);
  ResourceReader resources(machine_, quantities_);
  HopReader hops(machine_, quantities_, resources);
  for (const JsonField& place : file_.at("places").elements(kMostPlaces)) places.read(place);
  for (const JsonField& entry : file_.at("resources").elements(kMostEntries)) resources.read(entry);
  for (const JsonField& entry : file_.at("hops").elements(kMostEntries)) hops.read(entry);
  hops.finish();
  read_costs(file_.at("costs"));
  if (file_.has("driver")) read_driver(file_.at("driver"), quantities_, machine_.driver);
  if (file_.has("network"))
    NetworkReader(machine_, quantities_, resources).read(file_.at("network"));
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
    quantities_.add_source(key);
  }
}

void MachineReader::read_costs(const JsonField& field) {
  CallCosts& costs = machine_.costs;
  field.allow_only({"copy", "event_record", "event_wait", "synchronize", "graph_launch",
                    "graph_launch_node", "graph_instantiate", "graph_instantiate_node",
                    "graph_update_node", "threads_hold_up", "note"});
  field.check_note(kLongestSentence);
  for (const CostField& cost : cost_fields())
    if (!cost.optional || field.has(cost.name))
      costs.*cost.value = quantities_.duration(field.at(cost.name));
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

}  // namespace polypath::machine
