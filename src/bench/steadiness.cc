#include "bench/steadiness.h"

#include <algorithm>
#include <cmath>

namespace polypath::bench {
namespace {

bool done_alike(const CopyResult& a, const CopyResult& b) {
  return a.executor == b.executor && a.plan == b.plan;
}

bool as_long(Seconds a, Seconds b) { return std::abs((a - b).value) <= 1e-6 * b.value; }

}  // namespace

bool Steadiness::like_last(const Run& run) const {
  return alike_ >= 0 && as_long(run.time, last_.time) &&
         run.instantiations == last_.instantiations &&
         std::equal(run.lanes.begin(), run.lanes.end(), last_.lanes.begin(), last_.lanes.end(),
                    done_alike);
}

void Steadiness::note(const Run& run) {
  alike_ = like_last(run) ? alike_ + 1 : 0;
  last_ = run;
}

}  // namespace polypath::bench
