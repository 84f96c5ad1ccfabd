#pragma once
// Where ranks of this process are: their machine, with the program's own contexts.

#include <functional>

#include "collective/rank/seen_gpus.h"
#include "driver/driver.h"
#include "nccl/abi.h"

namespace polypath::nccl {

struct Surroundings : RanksMachine {
  /// The driver's handle of a program's stream, and the program's handle of a stream that the
  /// driver has made.
  std::function<StreamHandle(PlaceId gpu, Stream stream)> handle_of;
  std::function<Stream(StreamHandle stream)> native;
  /// Choices are kept for other programs of this user.
  bool keeps_choices = false;
  /// Of the smallest GPU that this process sees; 0: not known, and any number of blocks runs.
  unsigned multiprocessors = 0;
};

}  // namespace polypath::nccl
