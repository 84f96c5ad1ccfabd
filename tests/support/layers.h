#pragma once
// Tests find the names of all layers.

#include "core/layers.h"

namespace polypath::test {

using namespace bench;  // NOLINT(google-build-using-namespace): as core/layers.h

}  // namespace polypath::test
