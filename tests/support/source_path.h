#pragma once
// Files of the source tree, for tests that read the machines or the documentation.

#include <string>

#include "support/layers.h"

namespace polypath::test {

/// The path of a file or folder, given relative to the top of the source tree.
std::string source_path(const std::string& relative);

}  // namespace polypath::test
