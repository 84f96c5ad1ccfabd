// The numbers of a calibrated machine's file beside the nominal ones.

#include "probe/report.h"

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "driver/computer.h"
#include "machine/fingerprint.h"
#include "machine/library.h"
#include "machine/store.h"
#include "probe/choose.h"
#include "probe/discover.h"
#include "probe/hop_times.h"
#include "probe/subject.h"

namespace polypath::probe {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kIndent = 2;

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  ::gmtime_r(&now, &parts);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d", &parts)};
}

// The text of a machine file that has been read without complaint.
class NumbersReader {
 public:
  NumbersReader(const CalibratedMachine& machine, const std::string& text)
      : measured_(machine.measured), nominal_(machine.nominal), file_(Json::parse(text)) {}

  Json numbers();

 private:
  void add(const std::string& of, const std::string& quantity, const std::string& unit,
           double measured, double nominal, const Json* said);
  [[nodiscard]] const Json* said_of(const char* table, std::size_t index, const char* quantity,
                                    const std::string& name) const;
  void add_hop(std::size_t index);

  const Machine& measured_;
  const Machine& nominal_;
  Json file_;
  Json numbers_ = Json::array();
};

// What the file says of a number; null where it was written by hand, with patterns.
const Json* NumbersReader::said_of(const char* table, std::size_t index, const char* quantity,
                                   const std::string& name) const {
  const Json& entries = file_[table];
  if (index >= entries.size() || !entries[index].contains(quantity)) return nullptr;
  const Json& entry = entries[index];
  const bool is_hop = entry.contains("from");
  const std::string found =
      is_hop ? entry["from"].get<std::string>() + " -> " + entry["to"].get<std::string>()
             : entry["name"].get<std::string>();
  return found == name ? &entry[quantity] : nullptr;
}

void NumbersReader::add(const std::string& of, const std::string& quantity, const std::string& unit,
                        double measured, double nominal, const Json* said) {
  const std::string source =
      said == nullptr ? std::string()
                      : file_["sources"][(*said)["source"].get<std::string>()].get<std::string>();
  numbers_.push_back({{"of", of},
                      {"quantity", quantity},
                      {"unit", unit},
                      {"measured", measured},
                      {"nominal", nominal},
                      {"at_least", source.find(kAtLeast) != std::string::npos},
                      {"source", source}});
}

void NumbersReader::add_hop(std::size_t index) {
  const Hop& hop = measured_.hops[index];
  const Hop& before = nominal_.hops[index];
  const std::string name = hop_name(measured_, {static_cast<std::int32_t>(index)});
  add(name, "latency", "s", hop.latency.value, before.latency.value,
      said_of("hops", index, "latency", name));
  add(name, "bandwidth", "B/s", hop.bandwidth.value, before.bandwidth.value,
      said_of("hops", index, "bandwidth", name));
}

Json NumbersReader::numbers() {
  for (std::size_t i = 0; i < measured_.hops.size(); ++i) add_hop(i);
  for (std::size_t i = 0; i < measured_.resources.size(); ++i) {
    const Resource& resource = measured_.resources[i];
    if (!std::isfinite(resource.capacity.value)) continue;
    add(resource.name, "capacity", "B/s", resource.capacity.value,
        nominal_.resources[i].capacity.value, said_of("resources", i, "capacity", resource.name));
  }
  for (std::size_t i = 0; i < measured_.places.size(); ++i) {
    const Place& place = measured_.places[i];
    const Place& nominal = nominal_.places[i];
    const Json* said = said_of("places", i, "staging_latency", place.name);
    if (!place.staging_missing) {
      add(place.name, "staging latency", "s", place.staging_latency.value,
          nominal.staging_latency.value, said);
      add(place.name, "relay latency", "s", place.relay_latency.value, nominal.relay_latency.value,
          said);
    }
    if (place.kind == PlaceKind::gpu)
      add(place.name, "busy latency", "s", place.busy_latency.value, nominal.busy_latency.value,
          said);
  }
  for (const CostField& cost : cost_fields()) {
    const std::string name(cost.name);
    add(name, "cost", "s", (measured_.costs.*cost.value).value, (nominal_.costs.*cost.value).value,
        &file_["costs"][name]);
  }
  return std::move(numbers_);
}

Json missing_numbers(const Machine& machine) {
  Json missing = Json::array();
  for (const std::string& place : machine.places_without_staging())
    missing.push_back({{"of", place},
                       {"quantity", "staging latency"},
                       {"consequence", consequence_of_missing(place)}});
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

// What was found out earlier about the machine that the name stands for.
std::optional<CalibratedMachine> earlier_calibration(const std::string& name) {
  const Settings settings = read_settings();
  const std::string& wanted = name.empty() ? settings.machine : name;
  if (is_file(wanted))
    if (auto calibrated = read_calibration(wanted)) return calibrated;
  if (!wanted.empty()) return stored_calibration(load_machine(wanted), "sim");
  const ChosenMachine chosen = choose_machine(name, settings);
  return stored_calibration(chosen.machine, chosen.gpus ? chosen.gpus->name() : "sim");
}

}  // namespace

std::string calibrate_report(const std::string& name, const Progress& progress) {
  const Subject subject = subject_of(name, read_settings());
  const std::string path = calibration_path(subject.nominal, subject.driver->name());
  const Calibration found = calibrate(*subject.driver, subject.nominal, {{}, today()}, progress);
  const std::string text = machine_to_json(found.machine, found.provenance);
  write_whole(path, text);
  Json report = report_of({found.machine, subject.nominal, path}, text);
  report["driver"] = subject.driver->name();
  report["calibrated"] = Json::parse(text);
  return report.dump(kIndent);
}

std::string calibration_report(const std::string& name) {
  const auto calibrated = earlier_calibration(name);
  if (!calibrated) return {};
  return report_of(*calibrated, read_machine_file(calibrated->file)).dump(kIndent);
}

}  // namespace polypath::probe
