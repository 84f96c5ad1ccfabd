#include "probe/choose.h"

#include <fmt/format.h>

#include <array>
#include <mutex>

#include "core/error.h"
#include "core/log.h"
#include "driver/computer.h"
#include "machine/library.h"
#include "machine/store.h"
#include "probe/calibrate.h"
#include "probe/discover.h"

namespace polypath {
namespace {

constexpr const char* kDefaultMachine = "h200x4";

// A damaged calibration is not believed, and does not keep anybody from working.
std::optional<CalibratedMachine> calibration_of(const Machine& found) {
  try {
    return stored_calibration(found, "cuda");
  } catch (const Error& error) {
    log(LogLevel::warning, error.what());
    return std::nullopt;
  }
}

ChosenMachine this_computer(const Computer& computer, bool peer_access) {
  ChosenMachine chosen{machine_of(computer), nullptr, {}};
  chosen.gpus = shared_gpu_driver(chosen.machine, peer_access);
  if (const auto calibrated = calibration_of(chosen.machine)) {
    chosen.machine = calibrated->measured;
    chosen.note = probe::incompleteness(chosen.machine);
    return chosen;
  }
  chosen.note = "This computer has not been calibrated: run 'polypath calibrate' once.";
  return chosen;
}

}  // namespace

ChosenMachine choose_machine(const std::string& name, const Settings& settings) {
  const std::string& wanted = name.empty() ? settings.machine : name;
  if (!wanted.empty()) return {load_machine(wanted), nullptr, {}};
  const Computer computer = look_at_computer(settings.peer_access);
  if (computer.problem.empty()) return this_computer(computer, settings.peer_access);
  return {load_machine(kDefaultMachine), nullptr,
          fmt::format("No GPU here ({}): {} is simulated.", computer.problem, kDefaultMachine)};
}

std::shared_ptr<Driver> shared_gpu_driver(const Machine& machine, bool peer_access) {
  static std::mutex mutex;
  // Never destroyed: at exit CUDA may be gone before us.
  static auto& drivers = *new std::array<std::shared_ptr<Driver>, 2>;
  static auto& places = *new std::array<std::vector<std::string>, 2>;
  const std::scoped_lock lock(mutex);
  const std::size_t kind = peer_access ? 1 : 0;
  std::vector<std::string> names;
  for (const Place& place : machine.places) names.push_back(place.name);
  if (!drivers[kind] || places[kind] != names) {
    drivers[kind] = open_gpu_driver(machine, peer_access);
    places[kind] = names;
  }
  return drivers[kind];
}

}  // namespace polypath
