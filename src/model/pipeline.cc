#include "model/pipeline.h"

#include <algorithm>

namespace polypath::model {

StagedPipeline::StagedPipeline(Leg first, Leg second, Seconds staging, Seconds release, int slots)
    : first_(first),
      second_(second),
      staging_(staging),
      release_(release),
      slot_free_(static_cast<std::size_t>(std::max(slots, 1))) {}

Seconds StagedPipeline::add(Bytes chunk, Seconds first_issued, Seconds second_issued) {
  Seconds& slot_free = slot_free_[next_slot_];
  next_slot_ = (next_slot_ + 1) % slot_free_.size();
  Seconds start = std::max(first_done_, first_issued);
  if (added_++ >= slot_free_.size()) start = std::max(start, slot_free + release_);
  first_done_ = start + first_.latency + chunk / first_.bandwidth;
  second_done_ = std::max({second_done_, second_issued, first_done_ + staging_}) + second_.latency +
                 chunk / second_.bandwidth;
  return slot_free = second_done_;
}

}  // namespace polypath::model
