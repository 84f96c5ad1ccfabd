#pragma once

#include "core/units.h"
#include "model/program.h"

namespace polypath {

/// Something to be sent.
struct Message {
  Slice from;
  Slice to;
  Bytes bytes;
};

}  // namespace polypath
