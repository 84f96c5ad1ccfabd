#include "support/source_path.h"

namespace polypath::test {

std::string source_path(const std::string& relative) { return POLYPATH_SOURCE_DIR "/" + relative; }

}  // namespace polypath::test
