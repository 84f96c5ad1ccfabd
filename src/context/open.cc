#include "context/open.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "context/experience_file.h"
#include "context/plan_file.h"
#include "core/error.h"
#include "core/log.h"
#include "driver/computer.h"
#include "driver/trace/recorder.h"
#include "driver/trace/traced_driver.h"
#include "engine/load/node_ledger.h"
#include "machine/load_machine.h"
#include "machine/store.h"
#include "probe/calibrate.h"
#include "probe/discover.h"

namespace polypath::context {
namespace {

constexpr const char* kDefaultMachine = "h200x4";

// A damaged calibration is not used, and does not stop the opening.
std::optional<CalibratedMachine> calibration_of(const ChosenMachine& found) {
  try {
    return stored_calibration(found.machine, found.driver_name());
  } catch (const Error& error) {
    log(LogLevel::warning, error.what());
    return std::nullopt;
  }
}

ChosenMachine calibrated(ChosenMachine found) {
  if (const auto calibration = calibration_of(found)) {
    found.machine = calibration->measured;
    found.note = probe::incompleteness(found.machine);
    return found;
  }
  found.note = "This computer has not been calibrated: run 'polypath calibrate' once.";
  return found;
}

std::optional<ChosenMachine> named(const std::string& name, const Settings& settings) {
  const std::string& wanted = name.empty() ? settings.machine : name;
  if (wanted.empty()) return std::nullopt;
  return ChosenMachine{.machine = load_machine(wanted)};
}

ChosenMachine as_found(const Computer& computer) {
  ChosenMachine found{.machine = machine_of(computer), .simulated = false};
  for (const GpuFacts& gpu : computer.gpus) found.gpus.push_back(gpu.number);
  return found;
}

// One of the drivers that are kept.
struct KeptDriver {
  std::shared_ptr<Driver> driver;
  bool peer_access, own_contexts;
  std::vector<std::string> places;
  std::vector<int> gpus;

  [[nodiscard]] bool is_for(const KeptDriver& wanted) const {
    return std::tie(peer_access, own_contexts, places, gpus) ==
           std::tie(wanted.peer_access, wanted.own_contexts, wanted.places, wanted.gpus);
  }
};

std::shared_ptr<Driver> shared_gpu_driver(const ChosenMachine& chosen, const Settings& settings) {
  static std::mutex mutex;
  // Never destroyed: at exit CUDA may be gone before us.
  static auto& kept = *new std::vector<KeptDriver>;
  const std::scoped_lock lock(mutex);
  KeptDriver wanted{.driver = {},
                    .peer_access = settings.peer_access,
                    .own_contexts = settings.own_contexts,
                    .places = {},
                    .gpus = chosen.gpus};
  for (const Place& place : chosen.machine.places) wanted.places.push_back(place.name);
  const auto found =
      std::ranges::find_if(kept, [&](const KeptDriver& each) { return each.is_for(wanted); });
  if (found != kept.end()) return found->driver;
  wanted.driver = open_gpu_driver(chosen.machine, {.peer_access = settings.peer_access,
                                                   .own_contexts = settings.own_contexts,
                                                   .gpus = chosen.gpus});
  return kept.emplace_back(std::move(wanted)).driver;
}

// The program's requests to the GPUs are recorded if the user asks for it.
std::shared_ptr<Driver> traced(const std::shared_ptr<Driver>& driver, const Machine& machine,
                               const Settings& settings) {
  trace::Recorder* const recorder = trace::Recorder::of_process(*driver, machine, settings.trace);
  if (recorder == nullptr) return driver;
  return std::make_shared<trace::TracedDriver>(driver, *recorder);
}

}  // namespace

ChosenMachine choose_machine(const std::string& name, const Settings& settings) {
  if (auto chosen = named(name, settings)) return std::move(*chosen);
  const Computer computer = look_at_computer(settings.peer_access);
  if (computer.problem.empty()) return calibrated(as_found(computer));
  return {
      .machine = load_machine(kDefaultMachine),
      .note = fmt::format("No GPU here ({}): {} is simulated.", computer.problem, kDefaultMachine)};
}

ChosenMachine choose_nominal_machine(const std::string& name, const Settings& settings) {
  if (auto chosen = named(name, settings)) return std::move(*chosen);
  const Computer computer = look_at_computer(settings.peer_access);
  if (computer.problem.empty()) return as_found(computer);
  fail(ErrorCode::unsupported, "there is no GPU to calibrate here", computer.problem,
       "Name a machine to simulate instead: --machine h200x4.");
}

OpenMachine::OpenMachine(ChosenMachine chosen, const Settings& settings,
                         const sim::Options& simulation)
    : chosen_(std::move(chosen)), settings_(settings), simulation_(simulation) {
  settings_.learn = settings_.learn && !simulated();  // a simulation is as it is believed to be
  if (!simulated()) {
    untraced_ = shared_gpu_driver(chosen_, settings);
    driver_ = traced(untraced_, machine(), settings);
  } else {
    auto simulator = std::make_shared<sim::SimDriver>(machine(), simulation);
    simulator_ = simulator.get();
    untraced_ = driver_ = std::move(simulator);
  }
  const bool has_neighbours = !simulated() && settings.ledger;
  load_ = std::make_shared<LoadTracker>(
      machine(), has_neighbours ? open_node_ledger(machine(), settings.ledger_folder) : nullptr);
  if (settings_.learn) keeper_ = open_experience_file(machine(), chosen_.driver_name());
  if (settings_.keep_plans && !simulated())
    plan_keeper_ = open_plan_file(machine(), chosen_.driver_name(), settings_);
}

ChosenMachine choose_whole_computer(const Settings& settings) {
  if (auto chosen = named({}, settings)) return std::move(*chosen);
  const Computer computer = look_at_whole_computer(settings.peer_access);
  return computer.problem.empty() ? calibrated(as_found(computer)) : choose_machine({}, settings);
}

std::vector<PlaceId> OpenMachine::visible_gpus() const {
  std::vector<PlaceId> places = machine().places_of(PlaceKind::gpu);
  if (simulated()) return places;
  std::vector<std::pair<int, PlaceId>> seen;
  for (std::size_t i = 0; i < places.size(); ++i)
    seen.emplace_back(i < chosen_.gpus.size() ? chosen_.gpus[i] : static_cast<int>(i), places[i]);
  std::ranges::sort(seen);
  std::vector<PlaceId> visible;
  const auto count = look_at_computer(false).gpus.size();
  for (std::size_t i = 0; i < std::min(count, seen.size()); ++i) visible.push_back(seen[i].second);
  return visible;
}

std::vector<std::string> OpenMachine::visible_names() const {
  std::vector<std::string> names;
  if (simulated()) return names;
  for (const GpuFacts& gpu : look_at_computer(false).gpus)
    names.push_back(gpu.uuid.empty() ? gpu.bus_id : gpu.uuid);
  return names;
}

const OpenMachine& whole_computer(const Settings& settings) {
  static std::mutex mutex;
  static auto& opened = *new std::vector<std::pair<std::string, OpenMachine*>>;
  std::string key;
  for (const SettingDescription& setting : describe_settings(settings)) key += setting.value + '\n';
  const std::scoped_lock lock(mutex);
  for (const auto& [of, machine] : opened)
    if (of == key) return *machine;
  return *opened
              .emplace_back(std::move(key),
                            new OpenMachine(open_machine(choose_whole_computer(settings), settings,
                                                         sim::Options{})))
              .second;
}

OpenMachine OpenMachine::reopen(const sim::Options& simulation) const {
  return open_machine(chosen_, settings_, simulation);
}

OpenMachine open_machine(ChosenMachine chosen, const Settings& settings,
                         const sim::Options& simulation) {
  if (simulation.record_trace && !chosen.simulated)
    fail(ErrorCode::unsupported, "real GPUs keep no trace", "only simulated machines do",
         "Name a machine to simulate, or open the context without a trace.");
  return {std::move(chosen), settings, simulation};
}

OpenMachine open_machine(const std::string& name, const Settings& settings,
                         const sim::Options& simulation) {
  return open_machine(choose_machine(name, settings), settings, simulation);
}

OpenMachine simulate(const Machine& machine, const Settings& settings,
                     const sim::Options& simulation) {
  return open_machine({.machine = machine}, settings, simulation);
}

}  // namespace polypath::context
