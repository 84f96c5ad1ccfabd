#pragma once
// What ranks must have in common before they do anything together: versions, settings, sizes. Where
// they differ, all learn who differs in what, and nobody goes on.

#include <string>
#include <vector>

#include "communicator/communicator.h"

namespace polypath {

/// Something that must be the same at all ranks.
struct Term {
  std::string what;   ///< "POLYPATH_COLLECTIVE_SCRATCH"
  std::string value;  ///< "384M"
};

/// One round, which all ranks make with the same things in the same order. Error
/// (invalid_argument), at all ranks, that names the first rank that differs from rank 0, in what,
/// and both values.
void agree_on(Communicator& communicator, const std::vector<Term>& terms);

}  // namespace polypath
