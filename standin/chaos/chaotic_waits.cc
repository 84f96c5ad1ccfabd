// Which work has finished, and which entries a call has to wait for.

#include <algorithm>

#include "standin/chaos/chaotic_runner.h"

namespace polypath::standin::chaos {
namespace {

bool is_staged_at(const Entry& entry, PlaceId gpu) {
  return entry.through_host &&
         (entry.through_host->first == gpu || entry.through_host->second == gpu);
}

}  // namespace

bool ChaoticRunner::is_done(const std::vector<StreamHandle>& streams) {
  return std::all_of(streams.begin(), streams.end(), [&](StreamHandle stream) {
    return has_finished(scheduler_.last(queue(stream)));
  });
}

bool ChaoticRunner::is_done(EventHandle event) { return has_finished(events_.at(event)); }

Waiting ChaoticRunner::wait_for(std::vector<EntryPointer> entries) {
  std::erase_if(entries, has_finished);
  if (entries.empty()) return {};
  return [this, awaited = std::move(entries)] { scheduler_.wait_for(awaited); };
}

Waiting ChaoticRunner::finish(const std::vector<StreamHandle>& streams) {
  std::vector<EntryPointer> entries;
  for (const StreamHandle stream : streams) entries.push_back(scheduler_.last(queue(stream)));
  return wait_for(std::move(entries));
}

Waiting ChaoticRunner::finish(EventHandle event) { return wait_for({events_.at(event)}); }

// As seen on H200, driver 580: both GPUs wait for copies between them through the host, whichever
// GPU makes them.
Waiting ChaoticRunner::finish_context(const std::vector<StreamHandle>& streams, PlaceId gpu) {
  std::vector<EntryPointer> entries = scheduler_.unfinished(
      [&](const Queue&, const Entry& entry) { return is_staged_at(entry, gpu); });
  for (const StreamHandle stream : streams) entries.push_back(scheduler_.last(queue(stream)));
  return wait_for(std::move(entries));
}

// For work, not for what a stream waits for last: memory that another GPU's copies used was freed
// under them, although the stream had been made to wait for those (H100, driver 580,
// results/h100x2/frees.json). And for the context's own, not for that of others on its GPU, which
// can go on meanwhile (H200, results/h200x2/own_contexts.json).
Waiting ChaoticRunner::finish_before_free(ContextPointer context, PlaceId gpu) {
  const std::vector<EntryPointer> entries =
      scheduler_.unfinished([&](const Queue& queue, const Entry& entry) {
        return entry.is_work && (queue.context == context || is_staged_at(entry, gpu));
      });
  std::vector<EntryPointer>& freeing = freeing_[context];
  std::erase_if(freeing, has_finished);
  freeing.insert(freeing.end(), entries.begin(), entries.end());
  return wait_for(entries);
}

Waiting ChaoticRunner::finish_gpu(PlaceId gpu) {
  return wait_for(scheduler_.unfinished([&](const Queue& queue, const Entry& entry) {
    return entry.is_work && (queue.gpu == gpu || is_staged_at(entry, gpu));
  }));
}

std::optional<Seconds> ChaoticRunner::finished_at(EventHandle event) {
  const EntryPointer& entry = events_.at(event);
  if (!entry || !entry->finished.load()) return std::nullopt;
  return Seconds{std::chrono::duration<double>(entry->finished_at - began_).count()};
}

}  // namespace polypath::standin::chaos
