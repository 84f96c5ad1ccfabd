#pragma once
// Where each number of a machine is from, for machines whose numbers were measured one by one.

#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.h"

namespace polypath::machine {

/// One call cost: its name in machine files and where it stands in CallCosts.
struct CostField {
  std::string_view name;
  Seconds CallCosts::*value;
  bool optional = false;  ///< a file that leaves it out means 0
};
/// All call costs, in the order of CallCosts.
const std::vector<CostField>& cost_fields();

/// In the sentence of a capacity that nothing ever reaches: the number is only known not to be
/// less.
inline constexpr std::string_view kAtLeast = "at least this";

/// A sentence for each number, and the number's earlier value. The vectors are indexed like those
/// of the machine, `costs` like cost_fields(). An empty sentence: the number is the nominal one.
struct Provenance {
  std::vector<std::string> places;      ///< of the staging latencies
  std::vector<std::string> resources;   ///< of the capacities
  std::vector<std::string> bursts;      ///< of the resources' bursts
  std::vector<std::string> latencies;   ///< of the hops' α
  std::vector<std::string> bandwidths;  ///< of the hops' β
  std::vector<std::string> costs;
  Machine nominal;  ///< the same machine with the numbers from before
};

}  // namespace polypath::machine
