#include "collective/algorithms/algorithm.h"

#include <fmt/format.h>

#include <algorithm>

#include "collective/algorithms/fixed_order.h"
#include "collective/algorithms/node_ranks.h"
#include "core/error.h"
#include "core/text.h"

namespace polypath::collective {
namespace {

std::vector<std::string> names_for(const CollectiveRequest* request) {
  std::vector<std::string> names;
  for (const Algorithm& each : algorithms())
    if (request == nullptr || each.does(request->collective)) names.emplace_back(each.name);
  return names;
}

}  // namespace

bool Algorithm::does(Collective collective) const {
  return std::find(collectives.begin(), collectives.end(), collective) != collectives.end();
}

const char* fixed_order(const Machine& machine, const CollectiveRequest& request) {
  if (order_groups(machine, request).size() == 1) return kRankOrder;
  return nodes_are_alike(machine, request) ? kNodeOrder : kGroupOrder;
}

bool Algorithm::keeps_order(const Machine& machine, const CollectiveRequest& request,
                            std::string_view fixed) const {
  if (!reduces(request.collective) || !depends_on_order(request.reduction)) return true;
  const std::string_view own = order;
  if (own == kFixedOrder || own == fixed) return true;
  return own == kRankOrder && fixed == kNodeOrder &&
         ranks_by_node(machine, request).front().size() == 1;
}

const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> all = {
      flat(),           hierarchical(),   ring(),    knomial(),      exchange(),
      bruck(),          tree(),           chain(),   oneshot(),      twoshot(),
      oneshot_copies(), twoshot_copies(), host(),    host_oneshot(), across_nodes(),
      leaders(),        trees(),          grouped(), chain_kernel()};
  return all;
}

const Algorithm& find_algorithm(std::string_view name) {
  for (const Algorithm& each : algorithms())
    if (each.name == name) return each;
  fail(ErrorCode::invalid_argument, fmt::format("algorithm '{}' is unknown", name),
       "there are " + join(names_for(nullptr), ", "), "Name one of them, or auto.");
}

Program build(const Algorithm& algorithm, const Machine& machine, const CollectiveRequest& request,
              const Tuning& tuning, Routes* routes) {
  check(machine, request);
  if (!algorithm.does(request.collective))
    fail(ErrorCode::invalid_argument,
         fmt::format("{} cannot be done by '{}'", name_of(request.collective), algorithm.name),
         "its algorithms are " + join(names_for(&request), ", "), "Name one of them, or auto.");
  if (!algorithm.does(machine, request))
    fail(ErrorCode::invalid_argument,
         fmt::format("{} bytes cannot be done by '{}' there", message_bytes(request).value,
                     algorithm.name),
         algorithm.why_not, "Name another one, or auto.");
  Composer composer(machine, request, tuning, routes);
  algorithm.compose(composer);
  return std::move(composer).build();
}

}  // namespace polypath::collective
