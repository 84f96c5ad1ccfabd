#include "api/preload/session_batch.h"

#include <utility>

namespace polypath::preload {

CopyCall call_of(const ProgramCopy& asked, StreamHandle stream, PlaceId gpu) {
  return {.destination = asked.destination,
          .source = asked.source,
          .bytes = asked.bytes,
          .stream = stream,
          .stream_gpu = gpu};
}

CopyCall call_of(const ProgramCopy& asked, StreamHandle stream, PlaceId gpu,
                 const ProgramEnds& ends, std::optional<Executor> chosen) {
  CopyCall call = call_of(asked, stream, gpu);
  if (ends.imported() && !chosen) call.options.executor = Executor::stream;
  return call;
}

// Cheap checks come first: a batch of small copies goes to the driver before
// the engine is asked. The engine looks at the copies again, as it does for
// every caller; the batches that it takes are large enough for that.
Outcome SessionBatches::copy(const ProgramBatch& asked, Taken& taken) {
  if (asked.stream == nullptr || asked.bytes() < kNeverPlannedBelow * asked.sizes.size())
    return Outcome::form;
  if (!driver_.contexts().are_alive() || !driver_.imports().empty()) return Outcome::form;
  const std::optional<PlaceId> gpu = streams_.place_of(asked.stream);
  if (!gpu) return Outcome::other_context;
  const StreamHandle stream = streams_.handle_of(asked.stream, *gpu);
  if (driver_.is_capturing(stream)) return Outcome::capturing;
  const ProgramCopy first = asked.copy(0);
  ProgramEnds ends;
  if (const auto against = memory_.resolve(first, *gpu, ends)) return *against;
  const CopyCall call = call_of(first, stream, *gpu);
  if (ends.pageable() || !ends.are_open() ||
      !engine_.may_take_batch(call, ends.for_engine(), asked.sizes.size(), asked.bytes()))
    return Outcome::form;
  std::vector<ProgramEnds> all{ends};
  if (!go_one_way(asked, *gpu, all)) return Outcome::form;
  const ProgramQuestion question{first, *gpu, ends, Decision{.call = call}};
  if (!streams_.waits_for_nobody(question, SessionStreams::Polling::no)) return Outcome::pending;
  if (!take(asked, call)) return Outcome::form;
  taken = {.first = call, .all = std::move(all)};
  return Outcome::streams;
}

bool SessionBatches::take(const ProgramBatch& asked, const CopyCall& first) {
  std::vector<CopyCall> calls;
  calls.reserve(asked.sizes.size());
  for (std::size_t i = 0; i < asked.sizes.size(); ++i)
    calls.push_back(call_of(asked.copy(i), first.stream, first.stream_gpu));
  return engine_.take_batch(calls);
}

// True if all go the first one's way, between memories that all GPUs reach.
// Those of the first copy are in `all`, and the others are added.
bool SessionBatches::go_one_way(const ProgramBatch& asked, PlaceId gpu,
                                std::vector<ProgramEnds>& all) {
  const auto lies_in = [](const ProgramEnd& end, Address address, Bytes bytes) {
    return end.memory.base <= address &&
           address.value + bytes.value <= end.memory.base.value + end.memory.size.value;
  };
  const PlaceId source = all.front().source.memory.place;
  const PlaceId destination = all.front().destination.memory.place;
  for (std::size_t i = 1; i < asked.sizes.size(); ++i) {
    const ProgramCopy copy = asked.copy(i);
    ProgramEnds next = all.back();
    if (lies_in(next.destination, copy.destination, copy.bytes) &&
        lies_in(next.source, copy.source, copy.bytes))
      continue;
    if (memory_.resolve(copy, gpu, next) || next.pageable() || !next.are_open() ||
        next.source.memory.place != source || next.destination.memory.place != destination)
      return false;
    all.push_back(next);
  }
  return true;
}

}  // namespace polypath::preload
