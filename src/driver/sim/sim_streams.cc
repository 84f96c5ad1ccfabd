#include "driver/sim/sim_streams.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"

namespace polypath::sim {

SimStreams::SimStreams(Simulation& simulation) : simulation_(simulation) {
  const auto gpus = simulation.machine.places_of(PlaceKind::gpu);
  streams_[StreamHandle{}] = {gpus.empty() ? PlaceId{} : gpus.front(), nullptr,
                              simulation.races.add_thread()};
  signals_.thread = simulation.races.add_thread();
}

StreamHandle SimStreams::create(PlaceId gpu) {
  simulation_.check_gpu(gpu);
  simulation_.count(Call::create_stream);
  const StreamHandle handle{simulation_.make_handle()};
  streams_[handle] = {gpu, nullptr, simulation_.races.add_thread()};
  return handle;
}

void SimStreams::destroy(StreamHandle stream) {
  simulation_.retire_thread(at(stream).thread);
  streams_.erase(stream);
  simulation_.count(Call::destroy_stream);
}

void SimStreams::synchronize(StreamHandle stream) {
  const SimStream& awaited = at(stream);
  simulation_.count(Call::synchronize);
  if (awaited.tail) simulation_.play_until(*awaited.tail, "stream", stream.value);
  simulation_.clocks.spend(simulation_.clocks.costs().synchronize);
  simulation_.races.join_host(simulation_.races.clock(awaited.thread));
}

SimStream& SimStreams::at(StreamHandle handle) {
  const auto found = streams_.find(handle);
  if (found == streams_.end()) fail_handle("stream", handle.value);
  return found->second;
}

void SimStreams::append(const ActivityPointer& activity, SimStream& target) {
  Fluid::order(target.tail, activity, {});
  activity->waits = std::exchange(target.waited, false);
  simulation_.fluid.submit(activity);
  target.tail = activity;
}

void SimStreams::check_gpu(StreamHandle handle, PlaceId gpu, const char* what) {
  const SimStream& stream = at(handle);
  if (stream.gpu == gpu) return;
  fail(ErrorCode::invalid_argument,
       fmt::format("stream {} cannot {} of {}", handle.value, what,
                   simulation_.machine.place(gpu).name),
       fmt::format("it belongs to {}", simulation_.machine.place(stream.gpu).name),
       "Pass a stream of that GPU.");
}

}  // namespace polypath::sim
