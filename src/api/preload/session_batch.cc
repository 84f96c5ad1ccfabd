// Batches of copies. A native batch costs less than its copies one by one, so several paths have to
// beat the batch. Looking at all of its copies takes long, and comes last.

#include "api/preload/session.h"

namespace polypath::preload {

// Cheap checks come first: a batch of small copies goes to the driver before the engine is asked.
// The engine looks at the copies again, as it does for every caller; the batches that it takes are
// large enough for that.
Fate Session::copy(const ProgramBatch& asked) {
  if (executor_ == Executor::native || asked.stream == nullptr ||
      asked.bytes() < kNeverPlannedBelow * asked.sizes.size())
    return Outcome::form;
  if (!driver_.contexts().are_alive() || !driver_.imports().empty()) return Outcome::form;
  const std::optional<PlaceId> gpu = place_of(asked.stream);
  if (!gpu) return Outcome::other_context;
  const StreamHandle stream = handle_of(asked.stream, *gpu);
  if (driver_.is_capturing(stream)) return Outcome::capturing;
  const ProgramCopy first = asked.copy(0);
  Ends ends;
  if (const auto against = resolve_memory(first, ends)) return *against;
  const CopyCall call = call_of(first, stream, *gpu);
  if (ends.pageable() ||
      !engine_.may_take_batch(call, ends.for_engine(), asked.sizes.size(), asked.bytes()))
    return Outcome::form;
  std::vector<Ends> all{ends};
  if (!go_one_way(asked, all)) return Outcome::form;
  const Question question{first, *gpu, ends, Decision{.call = call}};
  if (!waits_for_nobody(question, Polling::no)) return Outcome::pending;
  return take(asked, call, all) ? Outcome::streams : Outcome::form;
}

bool Session::take(const ProgramBatch& asked, const CopyCall& first, const std::vector<Ends>& all) {
  std::vector<CopyCall> calls;
  calls.reserve(asked.sizes.size());
  for (std::size_t i = 0; i < asked.sizes.size(); ++i)
    calls.push_back(call_of(asked.copy(i), first.stream, first.stream_gpu));
  if (!engine_.take_batch(calls)) return false;
  note_queued(first, all);
  note_use();
  return true;
}

// True if all go the first one's way, between memories that all GPUs reach. Those of the first copy
// are in `all`, and the others are added.
bool Session::go_one_way(const ProgramBatch& asked, std::vector<Ends>& all) {
  const auto lies_in = [](const End& end, Address address, Bytes bytes) {
    return end.memory.base <= address &&
           address.value + bytes.value <= end.memory.base.value + end.memory.size.value;
  };
  const PlaceId source = all.front().source.memory.place;
  const PlaceId destination = all.front().destination.memory.place;
  for (std::size_t i = 1; i < asked.sizes.size(); ++i) {
    const ProgramCopy copy = asked.copy(i);
    Ends next = all.back();
    if (lies_in(next.destination, copy.destination, copy.bytes) &&
        lies_in(next.source, copy.source, copy.bytes))
      continue;
    if (resolve_memory(copy, next) || next.pageable() || next.source.memory.place != source ||
        next.destination.memory.place != destination)
      return false;
    all.push_back(next);
  }
  return true;
}

}  // namespace polypath::preload
