// The numbers of a calibrated machine's file beside the nominal ones.

#include "context/calibration.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "context/open.h"
#include "context/report_format.h"
#include "core/json_reader.json.h"
#include "core/json_text.json.h"
#include "core/text.h"
#include "machine/fingerprint.h"
#include "machine/load_machine.h"
#include "machine/store.h"

namespace polypath::context {
namespace {

using Json = nlohmann::ordered_json;
using Entries = std::vector<JsonField>;

constexpr std::size_t kMostEntries = 65536;
constexpr std::size_t kLongestText = 4096;

JsonComplaint complaint_about(const std::string& file) {
  return {file, ErrorCode::invalid_machine, "Calibrate again."};
}

// The text of a machine file that has been read without complaint.
class NumbersReader {
 public:
  NumbersReader(const CalibratedMachine& machine, const std::string& text)
      : measured_(machine.measured),
        nominal_(machine.nominal),
        document_(text, complaint_about(machine.file)) {}

  Json numbers();

 private:
  using Said = std::optional<JsonField>;

  [[nodiscard]] Entries table(const char* name) const {
    return document_.root().at(name).elements(kMostEntries);
  }
  void add(const std::string& of, const std::string& quantity, const std::string& unit,
           double measured, double nominal, const Said& said);
  void add_hops();
  void add_resources();
  void add_burst(std::size_t index, const Said& said);
  void add_places();
  void add_costs();

  const Machine& measured_;
  const Machine& nominal_;
  JsonDocument document_;
  Json numbers_ = Json::array();
};

std::string name_of_entry(const JsonField& entry) {
  if (!entry.has("from")) return entry.at("name").text(kLongestText);
  return fmt::format("{} -> {}", entry.at("from").text(kLongestText),
                     entry.at("to").text(kLongestText));
}

// The file's provenance of a number; nothing where it was written by hand, with patterns.
std::optional<JsonField> said_of(const Entries& entries, std::size_t index, const char* quantity,
                                 const std::string& name) {
  if (index >= entries.size()) return std::nullopt;
  return name_of_entry(entries[index]) == name ? entries[index].find(quantity) : std::nullopt;
}

void NumbersReader::add(const std::string& of, const std::string& quantity, const std::string& unit,
                        double measured, double nominal, const Said& said) {
  std::string source;
  if (said)
    source =
        document_.root().at("sources").at(said->at("source").text(kLongestText)).text(kLongestText);
  numbers_.push_back({{"of", of},
                      {"quantity", quantity},
                      {"unit", unit},
                      {"measured", measured},
                      {"nominal", nominal},
                      {"at_least", source.find(kAtLeast) != std::string::npos},
                      {"source", source}});
}

void NumbersReader::add_hops() {
  const Entries entries = table("hops");
  for (std::size_t i = 0; i < measured_.hops.size(); ++i) {
    const Hop& hop = measured_.hops[i];
    const Hop& before = nominal_.hops[i];
    const std::string name = hop_name(measured_, {static_cast<std::int32_t>(i)});
    add(name, "latency", "s", hop.latency.value, before.latency.value,
        said_of(entries, i, "latency", name));
    add(name, "bandwidth", "B/s", hop.bandwidth.value, before.bandwidth.value,
        said_of(entries, i, "bandwidth", name));
  }
}

void NumbersReader::add_resources() {
  const Entries entries = table("resources");
  for (std::size_t i = 0; i < measured_.resources.size(); ++i) {
    const Resource& resource = measured_.resources[i];
    if (!std::isfinite(resource.capacity.value)) continue;
    add(resource.name, "capacity", "B/s", resource.capacity.value,
        nominal_.resources[i].capacity.value, said_of(entries, i, "capacity", resource.name));
    add_burst(i, said_of(entries, i, "burst", resource.name));
  }
}

// Both numbers come from one measurement.
void NumbersReader::add_burst(std::size_t index, const Said& said) {
  const Resource& resource = measured_.resources[index];
  const Resource& before = nominal_.resources[index];
  if (resource.burst.size.value == 0) return;
  const Said rate = said ? said->find("rate") : std::nullopt;
  add(resource.name, "burst rate", "B/s", resource.burst.rate.value, before.rate_limit().peak(),
      rate);
  add(resource.name, "burst size", "B", resource.burst.size.real(), before.burst.size.real(), rate);
}

// All three latencies come from the measurement that found the first.
void NumbersReader::add_places() {
  const Entries entries = table("places");
  for (std::size_t i = 0; i < measured_.places.size(); ++i) {
    const Place& place = measured_.places[i];
    const Place& nominal = nominal_.places[i];
    const Said said = said_of(entries, i, "staging_latency", place.name);
    const auto add_latency = [&](const char* quantity, Seconds measured, Seconds before) {
      add(place.name, quantity, "s", measured.value, before.value, said);
    };
    if (!place.staging_missing) {
      add_latency("staging latency", place.staging_latency, nominal.staging_latency);
      add_latency("relay latency", place.relay_latency, nominal.relay_latency);
    }
    if (place.kind == PlaceKind::gpu)
      add_latency("busy latency", place.busy_latency, nominal.busy_latency);
  }
}

void NumbersReader::add_costs() {
  const JsonField costs = document_.root().at("costs");
  for (const CostField& cost : cost_fields())
    if (!cost.optional || costs.has(cost.name))
      add(std::string(cost.name), "cost", "s", (measured_.costs.*cost.value).value,
          (nominal_.costs.*cost.value).value, costs.at(cost.name));
}

Json NumbersReader::numbers() {
  add_hops();
  add_resources();
  add_places();
  add_costs();
  return std::move(numbers_);
}

Json missing_numbers(const Machine& machine) {
  Json missing = Json::array();
  for (const std::string& place : machine.places_without_staging())
    missing.push_back({{"of", place},
                       {"quantity", "staging latency"},
                       {"consequence", probe::consequence_of_missing(place)}});
  return missing;
}

Json report_of(const CalibratedMachine& machine, const std::string& text) {
  return {{"schema", "polypath.calibration/1"},
          {"machine", machine.measured.name},
          {"fingerprint", fingerprint(machine.measured)},
          {"file", machine.file},
          {"missing", missing_numbers(machine.measured)},
          {"numbers", NumbersReader(machine, text).numbers()}};
}

bool is_file(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".json");
}

// The earlier calibration of the machine that the name stands for.
std::optional<CalibratedMachine> earlier_calibration(const std::string& name) {
  const Settings settings = read_settings();
  const std::string& wanted = name.empty() ? settings.machine : name;
  if (is_file(wanted))
    if (auto calibrated = read_calibration(wanted)) return calibrated;
  const ChosenMachine chosen = choose_machine(name, settings);
  return stored_calibration(chosen.machine, chosen.driver_name());
}

// Only times are asked for, so that no bytes need to move; and no engine.
OpenMachine open_for_calibration(const std::string& name) {
  Settings settings = read_settings();
  settings.ledger = false;
  return open_machine(choose_nominal_machine(name, settings), settings, sim::kTimingOnly);
}

}  // namespace

std::string calibrate_report(const std::string& name, const probe::Progress& progress) {
  const OpenMachine opened = open_for_calibration(name);
  const Machine& nominal = opened.machine();
  const std::string driver = opened.driver().name();
  const std::string path = calibration_path(nominal, driver);
  const probe::Calibration found =
      probe::calibrate(opened.driver(), nominal, {{}, today()}, progress);
  const std::string text = machine_to_json(found.machine, found.provenance);
  write_whole(path, text);
  Json report = report_of({found.machine, nominal, path}, text);
  report["driver"] = driver;
  report["calibrated"] = Json::parse(text);
  return json_text(report, kReportIndent);
}

std::string calibration_report(const std::string& name) {
  const auto calibrated = earlier_calibration(name);
  if (!calibrated) return {};
  return json_text(report_of(*calibrated, read_machine_file(calibrated->file)), kReportIndent);
}

}  // namespace polypath::context
