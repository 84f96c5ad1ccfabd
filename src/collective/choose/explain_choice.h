#pragma once
// Why an algorithm was chosen, and each of the others was not.

#include <vector>

#include "collective/choose/choose.h"

namespace polypath::collective {

/// Gives each its reason; the first one is the choice.
void explain(std::vector<AlgorithmDecision>& decisions);

}  // namespace polypath::collective
