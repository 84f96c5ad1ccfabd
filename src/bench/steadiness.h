#pragma once
// Whether runs of one operation still do what is done only once: plans that change because lanes
// have just seen each other, first uses as streams, graphs that are instantiated. Equal times alone
// do not tell, since two lanes may do such things in two runs that take equally long.

#include <cstdint>
#include <vector>

#include "core/units.h"
#include "engine/call/copy_call.h"

namespace polypath::bench {

class Steadiness {
 public:
  /// The record of one run.
  struct Run {
    Seconds time;                      ///< 0 where times scatter and are not to be compared
    std::uint64_t instantiations = 0;  ///< of graphs, until its end
    std::vector<CopyResult> lanes;     ///< how each did its first copy
  };

  /// Steady are `enough` runs in a row like the one before them: more than the uses after which
  /// something is done for the first time.
  explicit Steadiness(int enough) : enough_(enough) {}

  void note(const Run& run);
  [[nodiscard]] bool reached() const { return alike_ >= enough_; }

 private:
  [[nodiscard]] bool like_last(const Run& run) const;

  int enough_;
  int alike_ = -1;  ///< runs like the one before; -1 before the first run
  Run last_;
};

}  // namespace polypath::bench
