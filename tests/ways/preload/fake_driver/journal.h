#pragma once
// What the fake driver has been asked for, and what it is told to do.

#include <string>
#include <vector>

namespace polypath::preload {

struct FakeDriver {
  std::vector<std::string> journal;
  std::vector<std::string> peers;  ///< "gpu0 reaches gpu1"
  bool refuses_mappings = false;
};

}  // namespace polypath::preload
