#pragma once
// A program on the stand-in that copies between GPUs in its streams.

#include "standin/program.h"
#include "support/layers.h"

namespace polypath::test {

class StandInStreams : public StandIn {
 protected:
  void copy(DevicePointer to, DevicePointer from, std::size_t bytes, StreamPointer queue) {
    ASSERT_EQ(cu("cuMemcpyDtoDAsync_v2", to, from, bytes, queue), 0);
  }
};

}  // namespace polypath::test
