#pragma once
// The one opening: which machine a name stands for, and that machine with its driver, ready for
// engines. No other code decides whether a machine is simulated or has a ledger.

#include <memory>
#include <string>
#include <vector>

#include "core/settings.h"
#include "driver/sim/sim_driver.h"
#include "engine/engine.h"
#include "engine/load/load_tracker.h"
#include "machine/machine.h"

namespace polypath::context {

/// A machine that a name stands for; nothing is open yet.
struct ChosenMachine {
  Machine machine;
  bool simulated = true;       ///< false: it is this computer
  std::vector<int> gpus = {};  ///< the numbers of its GPUs (driver/computer.h); none: in order
  std::string note = {};       ///< one line for people, where they may not expect it; else empty

  /// Driver::name() of what it is opened with: calibrations are kept by it.
  [[nodiscard]] const char* driver_name() const { return simulated ? "sim" : "cuda"; }
};

/// `name` (a zoo name, "synthetic:SEED" or a file), else the POLYPATH_MACHINE setting: simulated.
/// Neither: this computer's GPUs, as calibrated if they have been, else as found; and where there
/// are none, the default machine, simulated. Errors: invalid_argument, invalid_machine.
ChosenMachine choose_machine(const std::string& name, const Settings& settings);

/// The same before calibration: the structure that was found, with nominal numbers. Error
/// (unsupported) where nothing is named and there are no GPUs.
ChosenMachine choose_nominal_machine(const std::string& name, const Settings& settings);

/// This computer with all its GPUs, those that CUDA_VISIBLE_DEVICES hides too, in the order of
/// their bus ids: for ranks of which each sees other GPUs. Only the visible ones can be used. As
/// choose_machine where a machine is named.
ChosenMachine choose_whole_computer(const Settings& settings);

/// A machine, its driver, and the objects that its engines share. Copies of it are the same
/// opening.
class OpenMachine {
 public:
  [[nodiscard]] const Machine& machine() const { return chosen_.machine; }
  [[nodiscard]] const std::string& note() const { return chosen_.note; }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] const sim::Options& simulation() const { return simulation_; }
  [[nodiscard]] Driver& driver() const { return *driver_; }
  /// The same without what POLYPATH_TRACE puts around it.
  [[nodiscard]] Driver& untraced_driver() const { return *untraced_; }
  /// The driver, if the machine is simulated; null on real GPUs.
  [[nodiscard]] sim::SimDriver* simulator() const { return simulator_; }
  [[nodiscard]] bool simulated() const { return chosen_.simulated; }
  /// The places of the GPUs that this process sees, by CUDA's numbers.
  [[nodiscard]] std::vector<PlaceId> visible_gpus() const;
  /// What these are called on this computer; empty if it is simulated.
  [[nodiscard]] std::vector<std::string> visible_names() const;

  /// An engine with the settings of the opening. All of one opening know of each other's transfers,
  /// and on real GPUs of other processes' as well. The opening must outlive it.
  [[nodiscard]] Engine make_engine() const {
    return {*driver_, machine(), settings_, load_, keeper_, plan_keeper_};
  }

  /// The same machine as if nothing had been done on it: another simulation, or the same GPUs, and
  /// engines that know of no transfer so far.
  [[nodiscard]] OpenMachine reopen(const sim::Options& simulation = {}) const;

 private:
  friend OpenMachine open_machine(ChosenMachine chosen, const Settings& settings,
                                  const sim::Options& simulation);
  OpenMachine(ChosenMachine chosen, const Settings& settings, const sim::Options& simulation);

  ChosenMachine chosen_;
  Settings settings_;
  sim::Options simulation_;
  std::shared_ptr<Driver> untraced_;
  std::shared_ptr<Driver> driver_;
  sim::SimDriver* simulator_ = nullptr;
  std::shared_ptr<LoadTracker> load_;
  std::shared_ptr<ExperienceKeeper> keeper_;  ///< null where nothing is kept: a simulation is anew
  std::shared_ptr<PlanKeeper> plan_keeper_;   ///< the same
};

/// Opens what choose_machine finds for `name`. This computer's GPUs have one driver per process and
/// kind of peer access, kept to its end, because contexts take long to make. `simulation` is for
/// machines that are simulated. Errors: as choose_machine; unsupported for a trace of real GPUs.
OpenMachine open_machine(const std::string& name, const Settings& settings,
                         const sim::Options& simulation = {});
OpenMachine open_machine(ChosenMachine chosen, const Settings& settings,
                         const sim::Options& simulation = {});

/// What choose_whole_computer finds, opened at the first call for such settings and never closed:
/// at exit CUDA may be gone before us. Errors as open_machine.
const OpenMachine& whole_computer(const Settings& settings);

/// The machine, simulated even where it is this computer.
OpenMachine simulate(const Machine& machine, const Settings& settings,
                     const sim::Options& simulation = {});

}  // namespace polypath::context
