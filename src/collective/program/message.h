#pragma once

#include "core/units.h"
#include "model/program.h"

namespace polypath::collective {

/// Something to be sent.
struct Message {
  Slice from;
  Slice to;
  Bytes bytes;
  PlaceId by = {};  ///< the host by way of which it goes; invalid: as the composer is told
  bool where_faster = false;  ///< by the host nearest to where it goes, if that is faster
};

}  // namespace polypath::collective
