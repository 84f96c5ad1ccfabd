// Native copies in the trace: the program's own call makes them, between two events.

#include "api/preload/session.h"
#include "core/ignore_errors.h"

namespace polypath::preload {

// Not in a stream that may wait for the program: events fill the driver's queue as copies do.
std::optional<TracedCopy> Session::begin_traced(const ProgramCopy& asked,
                                                trace::Recorder& recorder) noexcept {
  TracedCopy traced;
  traced.work.kind = trace::Kind::native;
  ignore_errors([&] {
    const std::optional<PlaceId> gpu =
        driver_.contexts().are_alive() ? place_of(asked.stream) : std::nullopt;
    if (!gpu) return;
    const StreamHandle stream = handle_of(asked.stream, *gpu);
    if (driver_.is_capturing(stream)) return;
    const auto context = is_default_stream(asked.stream) ? context_of(*gpu) : nullptr;
    if (StreamWatch::of_process().may_wait(asked.stream, order_of(asked.stream), context)) return;
    const auto destination = driver_.find_memory(asked.destination);
    const auto source = driver_.find_memory(asked.source);
    if (!destination || !source) return;
    traced.work.source = source->place;
    traced.work.destination = destination->place;
    traced.work.bytes = asked.bytes;
    traced.begun = recorder.begin(stream);
  });
  if (!traced.begun) return std::nullopt;
  return traced;
}

}  // namespace polypath::preload
