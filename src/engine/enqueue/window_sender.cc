#include "engine/enqueue/window_sender.h"

#include <mutex>

namespace polypath::engine {

WindowSender::WindowSender(Driver& driver, BriefMutex& mutex, Lanes& lanes, PlanFinder& plans,
                           PathDecider& paths, Enqueuer& enqueuer, CopyRecords& records)
    : driver_(driver),
      mutex_(mutex),
      lanes_(lanes),
      plans_(plans),
      paths_(paths),
      enqueuer_(enqueuer),
      records_(records) {}

// Copies out of a GPU are put into the program's stream: in a stream of ours they would wait for
// relays that pull (results/h100x4/own_contexts.json). The lock is held from the choice of the
// stream to the event: work that may be held comes into the engine's streams under the same lock.
PageableCopies::Sent WindowSender::send(PageableCopies::WindowCall sent) {
  const std::scoped_lock lock(mutex_);
  CopyCall& call = sent.call;
  const bool outward = sent.ends.destination_kind == MemoryKind::pinned;
  if (outward || lanes_.any_held_beside(call.stream))
    call.stream = sent.callers, call.stream_gpu = sent.callers_gpu;
  Decision decision{.call = call,
                    .ends = sent.ends,
                    .native_threshold = plans_.native_threshold(call, sent.ends),
                    .means = Method::native};
  if (!decision.below_threshold()) paths_.decide_beside_others(decision);
  const CopyResult result = enqueuer_.attempt(decision);
  if (result.means == Method::native) enqueuer_.copy_natively(decision, NativeCopyBy::engine);
  else records_.count_staged(*result.plan);
  records_.note_load(decision);
  const EventHandle done = sent.done.on(call.stream_gpu);
  driver_.record(done, call.stream);
  return {result, done};
}

}  // namespace polypath::engine
