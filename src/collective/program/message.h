#pragma once

#include "core/units.h"
#include "model/program.h"

namespace polypath::collective {

/// Something to be sent.
struct Message {
  Slice from;
  Slice to;
  Bytes bytes;
};

}  // namespace polypath::collective
