#pragma once

#include <map>
#include <string>

namespace polypath::plan {

/// Parts of a message by path: "direct", "gpu2", "host0".
using Shares = std::map<std::string, double>;

/// How a transfer is split otherwise than its plan says.
struct Split {
  Shares shares;      ///< of some of the plan's paths, 1 in all; empty: the plan's
  double chunks = 1;  ///< so many times the plan's on every staged path

  bool operator==(const Split&) const = default;
};

}  // namespace polypath::plan
