#include "engine/enqueue/pageable_enqueuer.h"

#include <mutex>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/ignore_errors.h"
#include "engine/enqueue/failed_copy.h"

namespace polypath::engine {

PageableEnqueuer::PageableEnqueuer(Driver& driver, const Machine& machine, BriefMutex& mutex,
                                   PageableCopies& pageable, WindowDecider& decider,
                                   WindowPreparer& preparer, Enqueuer& enqueuer,
                                   CopyRecords& records)
    : driver_(driver),
      machine_(machine),
      mutex_(mutex),
      pageable_(pageable),
      decider_(decider),
      preparer_(preparer),
      enqueuer_(enqueuer),
      records_(records) {}

CopyResult PageableEnqueuer::enqueue(const Decision& decision, NativeCopyBy maker) {
  try {
    CopyResult result = decision.compared ? copy_to_compare(decision) : attempt(decision);
    if (result.means == Method::native && !result.made_here)
      enqueuer_.copy_natively(decision, maker);
    const std::scoped_lock lock(mutex_);
    records_.note(decision, result);
    return result;
  } catch (const Error& error) {
    const std::scoped_lock lock(mutex_);
    fail_to_copy(machine_, decision.call.bytes, records_.note_failure(decision), error);
  }
}

// Through windows, if that was decided and they are there.
CopyResult PageableEnqueuer::attempt(const Decision& decision) {
  const CopyCall& call = decision.call;
  if (decision.means != Method::windows) return {};
  if (!preparer_.provide(call, decision.ends))
    return {.obstacle = FallbackReason::preparing,
            .missed = preparer_.gain_of(call.bytes, decision.ends) * (1.0 + call.unasked)};
  std::optional<PageableCopies::Copied> done = pageable_.copy(call, decision.ends);
  if (!done) return {.obstacle = FallbackReason::failed};
  note_time(decision, ComparedWay::ours, done->took + last_window_in(decision));
  done->last_window.means = Method::windows;
  return std::move(done->last_window);
}

// Into a GPU the call returns while the last window is on its way; the driver leaves next to
// nothing behind.
Seconds PageableEnqueuer::last_window_in(const Decision& decision) const {
  const CopyEnds& ends = decision.ends;
  if (ends.source_kind != MemoryKind::pageable) return {};
  const auto hop = machine_.find_hop(ends.source, ends.destination);
  return hop ? pageable_.window_of(decision.call.bytes) / machine_.hop(*hop).bandwidth : Seconds{};
}

// Made here although the caller would have, because it is timed; not where that cannot be done.
CopyResult PageableEnqueuer::copy_to_compare(const Decision& decision) {
  if (!ignore_errors([&] { pageable_.wait_for_earlier_work(decision.call); }))
    return {.obstacle = FallbackReason::failed};
  const Seconds begin = driver_.now();
  enqueuer_.copy_natively(decision, NativeCopyBy::engine);
  note_time(decision, ComparedWay::native, driver_.now() - begin);
  return {.made_here = true};
}

void PageableEnqueuer::note_time(const Decision& decision, ComparedWay way, Seconds took) {
  const std::scoped_lock lock(mutex_);
  decider_.note(decision, way, took);
}

}  // namespace polypath::engine
