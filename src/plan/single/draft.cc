#include "plan/single/draft.h"

#include <algorithm>
#include <cmath>

namespace polypath::plan {

Seconds cost_of(const Draft& draft) {
  return draft.prediction.time + draft.prediction.call * kCallWeight;
}

bool is_worth_a_path(const Draft& more, const Draft& fewer) {
  return cost_of(more) < cost_of(fewer) * kWorthAPath;
}

Bytes share_of(Bytes bytes, double share) {
  return {static_cast<std::uint64_t>(std::llround(bytes.real() * share))};
}

std::vector<Path> paths_of(const Draft& draft) {
  std::vector<Path> paths;
  for (const PathDraft& part : draft.paths) paths.push_back(part.path);
  return paths;
}

Draft with_last(Draft draft, const Path& path) {
  std::stable_partition(draft.paths.begin(), draft.paths.end(),
                        [&](const PathDraft& part) { return part.path != path; });
  return draft;
}

std::vector<Draft> other_orders(const Draft& draft) {
  std::vector<Draft> orders{draft};
  std::reverse(orders.front().paths.begin(), orders.front().paths.end());
  for (std::size_t p = 0; draft.paths.size() > 2 && p + 1 < draft.paths.size(); ++p)
    orders.push_back(with_last(draft, draft.paths[p].path));
  return orders;
}

}  // namespace polypath::plan
