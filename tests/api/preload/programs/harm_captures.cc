// Large copies into a stream that is being captured become nodes of its graph, whatever the program
// has done before.
//
// Options: bytes.

#include "harm.h"

using namespace program;

namespace {

// Streams are looked at more closely once the program has put something into one that waits for it.
void after_waiting() {
  const std::size_t bytes = options().number("bytes", 64 * kMiB);
  const CUstream stream = stream_on(0);
  const CUdeviceptr far = memory_on(1, bytes), near = memory_on(0, bytes);
  const CUdeviceptr from = filled(0, bytes, 10);
  use(0);
  void* const host = pinned(bytes);
  CHECK(cuMemcpyDtoDAsync_v2(far, from, bytes, stream));
  CHECK(cuLaunchHostFunc(
      stream, [](void*) {}, nullptr));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuLaunchHostFunc(
      stream, [](void*) {}, nullptr));
  CUgraph graph = nullptr;
  std::size_t nodes = 0;
  CHECK(cuStreamBeginCapture_v2(stream, 0));
  CHECK(cuMemcpyDtoDAsync_v2(far, from, bytes, stream));
  CHECK(cuMemcpyDtoDAsync_v2(near, from, bytes, stream));
  CHECK(cuMemcpyDtoHAsync_v2(host, from, bytes, stream));
  std::printf("capture ends with %d\n", cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphGetNodes(graph, nullptr, &nodes));
  std::printf("nodes: %zu\n", nodes);
}

const Scenarios kScenarios = {{"after_waiting", {2, after_waiting}}};

}  // namespace

int main(int argc, char** argv) { return run_scenario(kScenarios, argc, argv); }
