#pragma once
// Picks the queue whose head goes on next, by priorities that are drawn anew every now and then: so
// a stream may overtake all others, or be overtaken, for as long as order allows.

#include <cstdint>
#include <list>

#include "standin/chaos/chance.h"
#include "standin/chaos/queue.h"

namespace polypath::standin::chaos {

class Picker {
 public:
  explicit Picker(std::uint64_t seed) : choices_(seed) {}

  struct Pick {
    QueuePointer queue;      ///< none: nothing can go on
    Clock::time_point next;  ///< when something can, as far as time alone decides
  };

  [[nodiscard]] std::uint64_t draw_priority() { return choices_.below(UINT64_MAX); }
  Pick pick(const std::list<QueuePointer>& queues);

 private:
  bool can_go_on(Entry& head, Clock::time_point now);
  void draw_priorities(const std::list<QueuePointer>& queues);

  Chance choices_;
  std::uint64_t picks_left_ = 0;  ///< until priorities are drawn anew
};

}  // namespace polypath::standin::chaos
