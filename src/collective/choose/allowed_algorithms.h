#pragma once
// Among which algorithms the planner chooses, and with which radices.

#include <vector>

#include "collective/choose/choose.h"

namespace polypath::collective {

/// Those that do the request and may be used, or those that the caller names.
/// Error (unsupported) if there is none.
std::vector<const Algorithm*> allowed_algorithms(const Machine& machine,
                                                 const CollectiveRequest& request,
                                                 const CollectiveOptions& options);

/// That are worth a try; a base beyond the ranks is the same as their number.
std::vector<int> radices_of(const Algorithm& algorithm, const CollectiveRequest& request);

}  // namespace polypath::collective
