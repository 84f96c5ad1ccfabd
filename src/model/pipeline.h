#pragma once
// The exact time of a staged pipeline, chunk by chunk, where the papers' eq. 13 assumes equal
// chunks, unlimited staging memory and copies that are issued in no time.
//
// With chunk sizes c_j, issue times i_j and i'_j, and a ring of R staging slots:
//
//   f_j = max(f_{j-1}, i_j, s_{j-R} + ε') + α + c_j/β        first leg; slot j mod R must be free
//   s_j = max(s_{j-1}, i'_j, f_j + ε) + α' + c_j/β'          second leg; the chunk must have
//   arrived
//
// and the path is done at s_{k-1}. ε' is the cost of learning that a slot is free again.

#include <vector>

#include "model/hockney.h"

namespace polypath::model {

/// The recursion above; feed it the chunks in order.
class StagedPipeline {
 public:
  StagedPipeline(Leg first, Leg second, Seconds staging, Seconds release, int slots);

  /// The next chunk: when its copies are issued, and its size. Returns s_j.
  Seconds add(Bytes chunk, Seconds first_issued, Seconds second_issued);

 private:
  Leg first_;
  Leg second_;
  Seconds staging_;
  Seconds release_;
  Seconds first_done_;
  Seconds second_done_;
  std::vector<Seconds> slot_free_;
  std::size_t next_slot_ = 0;
  std::size_t added_ = 0;
};

}  // namespace polypath::model
