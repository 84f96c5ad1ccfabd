#include "driver/sim/simulation.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"

namespace polypath::sim {
namespace {

Machine validated(Machine machine) {
  validate(machine);
  return machine;
}

}  // namespace

void fail_handle(const char* what, std::uintptr_t handle) {
  fail(ErrorCode::invalid_argument, fmt::format("{} {} does not exist", what, handle),
       "it was never created here, or has been destroyed", "Pass one that is alive.");
}

Simulation::Simulation(Machine simulated, Options asked)
    : machine(validated(std::move(simulated))),
      options(asked),
      races(asked.check_races),
      findings(asked.record_trace) {}

void Simulation::check_place(PlaceId place) const {
  if (place.valid() && place.index() < machine.places.size()) return;
  fail(ErrorCode::invalid_argument, fmt::format("place number {} cannot be used", place.value),
       fmt::format("the machine has {} places", machine.places.size()), "Correct it.");
}

void Simulation::check_gpu(PlaceId place) const {
  const bool known = place.valid() && place.index() < machine.places.size();
  if (known && machine.place(place).kind == PlaceKind::gpu) return;
  const std::string name =
      known ? machine.place(place).name : fmt::format("place number {}", place.value);
  fail(ErrorCode::invalid_argument, name + " is no GPU", "streams and events belong to GPUs",
       "Pass a GPU of the machine.");
}

ActivityPointer Simulation::make_marker() const {
  auto marker = std::make_shared<Activity>();
  marker->issued = clocks.time();
  return marker;
}

Seconds Simulation::crossing_delay(const ActivityPointer& earlier, PlaceId gpu) const {
  if (!earlier) return {};
  if (earlier->hop.valid()) return machine.wait_latency(earlier->hop, gpu);
  return earlier->gpu.valid() ? machine.wait_latency(earlier->gpu, gpu) : Seconds{};
}

void Simulation::play_until(const Activity& activity, const char* what, std::uintptr_t handle) {
  if (!fluid.play_until(activity))
    fail(ErrorCode::driver, fmt::format("{} {} never finishes", what, handle),
         flags.are_awaited() ? "something in it waits for a flag that is never written"
                             : "nothing is left that could end it",
         "Enqueue the write before you wait.");
  clocks.meet_nodes_at(activity.finished);
}

void Simulation::step(std::size_t thread, std::vector<Touch> touches, std::string what) {
  order.perform(thread, [this, thread, touches = std::move(touches), what = std::move(what)] {
    races.step(thread);
    if (!options.check_races) return;
    for (const Touch& each : touches) {
      const std::string race = races.access(thread, each.region, each.writes, what);
      if (!race.empty()) findings.report(race);
    }
  });
}

void Simulation::retire_thread(std::size_t thread) {
  order.perform(thread, [this, thread] { races.retire_thread(thread); });
}

}  // namespace polypath::sim
