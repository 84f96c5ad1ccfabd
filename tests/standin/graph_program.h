#pragma once
// A program on the stand-in that makes graphs, by hand and by capture.

#include "standin/program.h"
#include "support/layers.h"

namespace polypath::test {

using cuda::GraphExecPointer;
using cuda::GraphNodePointer;
using cuda::GraphPointer;
using cuda::Memcpy3D;

// CUstreamCaptureMode
constexpr int kGlobal = 0, kThreadLocal = 1, kRelaxed = 2;

class StandInGraphs : public StandIn {
 protected:
  void TearDown() override {
    exchange(mode_before_);
    StandIn::TearDown();
  }

  static Memcpy3D linear(DevicePointer to, DevicePointer from, std::size_t bytes) {
    Memcpy3D copy;
    copy.source_type = copy.destination_type = cuda::kMemoryDevice;
    copy.source_device = from;
    copy.destination_device = to;
    copy.width = bytes;
    return copy;
  }
  GraphNodePointer add(GraphPointer graph, const Memcpy3D& copy,
                       const std::vector<GraphNodePointer>& after) {
    GraphNodePointer node = nullptr;
    EXPECT_EQ(
        cu("cuGraphAddMemcpyNode", &node, graph, after.data(), after.size(), &copy, contexts_[0]),
        0);
    return node;
  }
  static GraphExecPointer instantiate(GraphPointer graph) {
    GraphExecPointer executable = nullptr;
    EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &executable, graph, 0ULL), 0);
    return executable;
  }
  static void launch(GraphExecPointer executable, StreamPointer queue) {
    ASSERT_EQ(cu("cuGraphLaunch", executable, queue), 0);
    ASSERT_EQ(cu("cuStreamSynchronize", queue), 0);
  }
  static Result begin(StreamPointer queue, int mode = kThreadLocal) {
    return cu("cuStreamBeginCapture_v2", queue, mode);
  }
  static Result end(StreamPointer queue, GraphPointer* graph) {
    return cu("cuStreamEndCapture", queue, graph);
  }
  static int status(StreamPointer queue) {
    int status = -1;
    EXPECT_EQ(cu("cuStreamIsCapturing", queue, &status), 0);
    return status;
  }
  static int exchange(int mode) {
    EXPECT_EQ(cu("cuThreadExchangeStreamCaptureMode", &mode), 0);
    return mode;
  }
  template <class Calls>
  static void relaxed(Calls calls) {
    EXPECT_EQ(exchange(kRelaxed), kGlobal);
    calls();
    EXPECT_EQ(exchange(kGlobal), kRelaxed);
  }

  const int mode_before_ = kGlobal;
};

}  // namespace polypath::test
