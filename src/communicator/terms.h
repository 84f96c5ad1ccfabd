#pragma once
// The terms that ranks must share before they do anything together: versions, settings, sizes. If
// they differ, every rank learns which ranks differ in which term, and no rank goes on.

#include <string>
#include <vector>

#include "communicator/communicator.h"

namespace polypath::communicator {

/// Something that must be the same at all ranks.
struct Term {
  std::string what;   ///< "POLYPATH_COLLECTIVE_SCRATCH"
  std::string value;  ///< "384M"
};

/// One round, which all ranks make with the same things in the same order. Error
/// (invalid_argument), at all ranks, that names the first rank that differs from rank 0, in what,
/// and both values.
void agree_on(Communicator& communicator, const std::vector<Term>& terms);

}  // namespace polypath::communicator
