#include "standin/state/process.h"

#include "machine/load_machine.h"

namespace polypath::standin {
namespace {

std::vector<Gpu> at(const std::vector<Gpu>& gpus, const std::vector<std::size_t>& indices) {
  std::vector<Gpu> chosen;
  for (const std::size_t index : indices) chosen.push_back(gpus[index]);
  return chosen;
}

}  // namespace

Process::Process(const StandInSettings& chosen)
    : settings(chosen),
      machine(load_machine(chosen.machine)),
      runner(make_runner(machine, chosen)),
      contexts(at(gpus_of(machine), visible_gpus(gpus_of(machine), chosen.visible))),
      streams(*runner, contexts, chosen.chaos.has_value()),
      events(*runner, chosen.chaos.has_value()),
      allocations(*runner, chosen.chaos.has_value()),
      virtual_memory(allocations),
      pools(*runner, allocations),
      graphs(*runner, chosen.chaos.has_value()),
      owners(chosen.exclusive) {
  if (machine.places_of(PlaceKind::host).empty())
    fail(ErrorCode::invalid_machine, "machine " + chosen.machine + " cannot stand in",
         "it has no host memory", "Name another one with STANDIN_MACHINE.");
}

PlaceId Process::host() const {
  const std::vector<Gpu>& gpus = contexts.gpus();
  return gpus.empty() ? machine.places_of(PlaceKind::host).front()
                      : machine.nearest_host(gpus.front().place);
}

void Process::collect(PlaceId gpu) {
  if (Waiting waiting = streams.memory().collect(gpu)) throw Blocked{std::move(waiting)};
}

Stream& Process::stream(StreamArgument argument, WorkKind kind) {
  Stream& found = streams.find(argument);
  if (found.capturing.active()) return found;
  if (Waiting waiting = runner->room_in(found.work, kind)) throw Blocked{std::move(waiting)};
  streams.order(found);
  return found;
}

// CUDA's rule: a global capture forbids them to every thread that is not relaxed; any capture that
// is not relaxed forbids them to the thread that began it.
void Process::check_no_capture() const {
  const int mode = thread_capture_mode();
  if (mode == kCaptureRelaxed) return;
  for (const auto& [handle, stream] : streams.all()) {
    const Capturing& at = stream->capturing;
    if (!at.active() || at.capture->mode == kCaptureRelaxed) continue;
    const bool own = at.capture->thread == std::this_thread::get_id();
    if (own || (mode == kCaptureGlobal && at.capture->mode == kCaptureGlobal))
      spoil(at, kCaptureUnsupported, "the call could disturb a capture");
  }
}

void Process::destroy(const Context& context) {
  allocations.remove_all(context.handle);
  streams.remove_all(context.handle);
  events.remove_all(context.handle);
  owners.give_back(contexts.gpu(context.ordinal));
  contexts.destroy(context);
}

Bytes Process::used(Device device) const {
  return allocations.used(device) + virtual_memory.used(device) +
         settings.context_memory * contexts.count(device);
}

void Process::admit_context(Device device) {
  const Gpu& gpu = contexts.gpu(device);
  if (used(device) + settings.context_memory > settings.memory)
    refuse(kOutOfMemory, "the GPU has no room left for a context (STANDIN_CONTEXT_MEMORY)");
  owners.take(gpu);
}

}  // namespace polypath::standin
