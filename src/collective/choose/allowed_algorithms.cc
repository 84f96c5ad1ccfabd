#include "collective/choose/allowed_algorithms.h"

#include <fmt/format.h>

#include <string>

#include "core/error.h"

namespace polypath::collective {

std::vector<const Algorithm*> allowed_algorithms(const Machine& machine,
                                                 const CollectiveRequest& request,
                                                 const CollectiveOptions& options) {
  std::vector<const Algorithm*> found;
  for (const std::string& name : options.algorithms) found.push_back(&find_algorithm(name));
  if (!found.empty()) return found;
  const auto may_use = [&](const Algorithm& each) {
    return (options.kernels || !(each.is_kernel || each.exchanges)) &&
           (options.copies || each.is_kernel);
  };
  const bool any_order = options.any_order || !reduces(request.collective);
  const char* fixed = any_order ? "" : fixed_order(machine, request);
  for (const Algorithm& each : algorithms())
    if (each.does(machine, request) && may_use(each) &&
        (any_order || each.keeps_order(machine, request, fixed)))
      found.push_back(&each);
  if (!found.empty()) return found;
  fail(ErrorCode::unsupported, fmt::format("{} cannot be planned", name_of(request.collective)),
       "no algorithm that may be used does it on this machine", "Allow others.");
}

std::vector<int> radices_of(const Algorithm& algorithm, const CollectiveRequest& request) {
  std::vector<int> radices = algorithm.radices;
  std::erase_if(radices, [&](int radix) { return radix > request.size(); });
  if (algorithm.most_of_a_root > request.size() && has_root(request.collective))
    radices.push_back(algorithm.most_of_a_root);
  return radices;
}

}  // namespace polypath::collective
