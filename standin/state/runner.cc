#include "standin/state/runner.h"

#include "standin/chaos/chaotic_runner.h"
#include "standin/virtual_time/virtual_runner.h"

namespace polypath::standin {

std::unique_ptr<Runner> make_runner(const Machine& machine, const StandInSettings& settings) {
  if (settings.chaos) return std::make_unique<chaos::ChaoticRunner>(machine, settings);
  return std::make_unique<VirtualRunner>(machine, settings.statistics);
}

bool& calls_are_forbidden() {
  thread_local bool forbidden = false;
  return forbidden;
}

std::string way_between(const Machine& machine, PlaceId source, PlaceId destination) {
  if (source == destination) return "within one place";
  return machine.place(source).name + " to " + machine.place(destination).name;
}

}  // namespace polypath::standin
