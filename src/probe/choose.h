#pragma once
// Which machine a program works on: the one it names, which is simulated, or this computer.

#include <memory>
#include <string>

#include "core/settings.h"
#include "driver/driver.h"
#include "machine/machine.h"

namespace polypath {

struct ChosenMachine {
  Machine machine;
  std::shared_ptr<Driver> gpus;  ///< this computer's; null: the machine is to be simulated
  std::string note;              ///< one line for people, where they may not expect it; else empty
};

/// `name` (a zoo name, "synthetic:SEED" or a file), else the POLYPATH_MACHINE setting: simulated.
/// Neither: this computer's GPUs, as calibrated if they have been, else as found; and where there
/// are none, the default machine, simulated. Errors: invalid_argument, invalid_machine.
ChosenMachine choose_machine(const std::string& name, const Settings& settings);

/// The driver of this computer's GPUs for a machine with these places: one per process and kind of
/// access, kept to its end, because contexts take long to make. Error (unsupported) without GPUs.
std::shared_ptr<Driver> shared_gpu_driver(const Machine& machine, bool peer_access = true);

}  // namespace polypath
