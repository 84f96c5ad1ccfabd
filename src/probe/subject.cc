#include "probe/subject.h"

#include "core/error.h"
#include "driver/computer.h"
#include "driver/sim/sim_driver.h"
#include "machine/library.h"
#include "probe/choose.h"
#include "probe/discover.h"

namespace polypath::probe {
namespace {

// Only times are asked for: no bytes need to move.
Subject simulated(const std::string& name) {
  const sim::Options timing_only{false, false, false};
  const Machine machine = load_machine(name);
  return {machine, std::make_shared<sim::SimDriver>(machine, timing_only)};
}

Subject this_computer(bool peer_access) {
  const Computer computer = look_at_computer(peer_access);
  if (!computer.problem.empty())
    fail(ErrorCode::unsupported, "there is no GPU to calibrate here", computer.problem,
         "Name a machine to simulate instead: --machine h200x4.");
  const Machine found = machine_of(computer);
  return {found, shared_gpu_driver(found, peer_access)};
}

}  // namespace

Subject subject_of(const std::string& name, const Settings& settings) {
  const std::string& wanted = name.empty() ? settings.machine : name;
  return wanted.empty() ? this_computer(settings.peer_access) : simulated(wanted);
}

}  // namespace polypath::probe
