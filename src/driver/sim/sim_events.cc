#include "driver/sim/sim_events.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace polypath::sim {
namespace {

constexpr Seconds kLeastQuery = 0.01_us;

}  // namespace

EventHandle SimEvents::create(PlaceId gpu) {
  simulation_.check_gpu(gpu);
  simulation_.count(Call::create_event);
  const EventHandle handle{simulation_.make_handle()};
  events_[handle].gpu = gpu;
  return handle;
}

void SimEvents::destroy(EventHandle event) {
  (void)at(event);
  events_.erase(event);
  simulation_.count(Call::destroy_event);
}

void SimEvents::record(EventHandle event, StreamHandle stream) {
  Event& recorded = at(event);
  const SimStream& source = streams_.at(stream);
  if (recorded.gpu != source.gpu)
    fail(ErrorCode::invalid_argument,
         fmt::format("event {} of {} cannot be recorded on stream {} of {}", event.value,
                     simulation_.machine.place(recorded.gpu).name, stream.value,
                     simulation_.machine.place(source.gpu).name),
         "an event is recorded by the GPU it was created for", "Use one event per GPU.");
  simulation_.count(Call::record);
  simulation_.spend_at(source.gpu, simulation_.clocks.costs().event_record);
  recorded = {recorded.gpu, true, source.tail, simulation_.order.mark(source.thread),
              simulation_.clocks.time()};
}

void SimEvents::wait(StreamHandle stream, EventHandle event) {
  SimStream& waiting = streams_.at(stream);
  const Event& awaited = at(event);
  simulation_.count(Call::wait);
  simulation_.spend_at(waiting.gpu, simulation_.clocks.costs().event_wait);
  if (!awaited.recorded) {
    simulation_.findings.report(fmt::format(
        "stream {} waits for event {}, which was never recorded", stream.value, event.value));
    return;
  }
  const ActivityPointer marker = simulation_.make_marker();
  Fluid::order(waiting.tail, marker, {});
  Fluid::order(awaited.activity, marker, simulation_.crossing_delay(awaited.activity, waiting.gpu));
  simulation_.fluid.submit(marker);
  waiting.tail = marker;
  waiting.waited = true;
  simulation_.order.join(waiting.thread, awaited.moment);
}

bool SimEvents::is_done(EventHandle event) {
  const Event& asked = at(event);
  simulation_.count(Call::is_done);
  // A query and a record are both one look at the channel. It takes some time on any machine, so
  // that a caller that polls is answered at last.
  simulation_.clocks.spend(std::max(simulation_.clocks.costs().event_record, kLeastQuery));
  simulation_.fluid.advance_to(simulation_.clocks.meet_nodes());
  const bool done = !asked.activity || asked.activity->done;
  if (done && asked.moment) simulation_.races.join_host(asked.moment->clock);
  return done;
}

std::optional<Seconds> SimEvents::elapsed(EventHandle begin, EventHandle end) {
  simulation_.count(Call::elapsed);
  simulation_.clocks.spend(std::max(simulation_.clocks.costs().event_record, kLeastQuery));
  simulation_.fluid.advance_to(simulation_.clocks.meet_nodes());
  for (const EventHandle event : {begin, end})
    if (!at(event).recorded)
      fail(ErrorCode::invalid_argument, fmt::format("event {} has no time", event.value),
           "it was never recorded", "Record it first.");
  const auto from = time_of(at(begin)), to = time_of(at(end));
  if (!from || !to) return std::nullopt;
  return *to - *from;
}

void SimEvents::synchronize(EventHandle event) {
  const Event& awaited = at(event);
  simulation_.count(Call::synchronize);
  if (awaited.activity) simulation_.play_until(*awaited.activity, "event", event.value);
  simulation_.clocks.spend(simulation_.clocks.costs().synchronize);
  if (awaited.moment) simulation_.races.join_host(awaited.moment->clock);
}

std::optional<Seconds> SimEvents::finished_at(EventHandle event) { return time_of(at(event)); }

std::optional<Seconds> SimEvents::time_of(const Event& event) {
  if (!event.recorded || (event.activity && !event.activity->done)) return std::nullopt;
  return event.activity ? std::max(event.at, event.activity->finished) : event.at;
}

SimEvents::Event& SimEvents::at(EventHandle handle) {
  const auto found = events_.find(handle);
  if (found == events_.end()) fail_handle("event", handle.value);
  return found->second;
}

}  // namespace polypath::sim
