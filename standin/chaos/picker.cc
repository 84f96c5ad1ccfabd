#include "standin/chaos/picker.h"

#include <algorithm>
#include <chrono>

namespace polypath::standin::chaos {
namespace {

constexpr std::uint64_t kMostPicksPerDraw = 64;
constexpr auto kLongest = std::chrono::hours(1);

}  // namespace

void Picker::draw_priorities(const std::list<QueuePointer>& queues) {
  if (picks_left_-- != 0) return;
  picks_left_ = choices_.below(kMostPicksPerDraw);
  for (const QueuePointer& queue : queues) queue->priority = draw_priority();
}

Picker::Pick Picker::pick(const std::list<QueuePointer>& queues) {
  const Clock::time_point now = Clock::now();
  Pick picked{nullptr, now + kLongest};
  for (const QueuePointer& queue : queues) {
    if (queue->entries.empty()) continue;
    Entry& head = *queue->entries.front();
    if (can_go_on(head, now)) {
      if (!picked.queue || queue->priority > picked.queue->priority) picked.queue = queue;
    } else if (head.drawn && !head.elsewhere) {
      picked.next = std::min(picked.next, head.not_before);
    }
  }
  if (picked.queue) draw_priorities(queues);
  return picked;
}

// The delay is drawn when nothing but time keeps the entry.
bool Picker::can_go_on(Entry& head, Clock::time_point now) {
  if (head.elsewhere) return false;
  std::erase_if(head.after, has_finished);
  if (!head.after.empty()) return false;
  if (!head.drawn) head.not_before = now + choices_.delay();
  head.drawn = true;
  return head.not_before <= now;
}

}  // namespace polypath::standin::chaos
