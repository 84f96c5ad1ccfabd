// The program's own functions in streams.

#include <chrono>
#include <thread>

#include "standin/stream_program.h"
#include "support/layers.h"

namespace polypath::test::host_functions_test {
namespace {

struct Seen {
  StandIn* test;
  const unsigned char* memory;
  int calls = 0;
  unsigned char value = 0;
  std::thread::id thread;
};

TEST_F(StandInStreams, HostFunctionsRunInOrderOnAnotherThread) {
  unsigned char* host = pinned(kSmall);
  const DevicePointer memory = device(Contents(kSmall, 5));
  const StreamPointer queue = stream();
  Seen seen{this, host, 0, 0, {}};
  void* data = &seen;
  void (*function)(void*) = [](void* given) {
    auto* where = static_cast<Seen*>(given);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    where->value = where->memory[0];
    where->thread = std::this_thread::get_id();
    ++where->calls;
  };
  void* out = host;

  ASSERT_EQ(cu("cuMemcpyDtoHAsync_v2", out, memory, kSmall, queue), 0);
  ASSERT_EQ(cu("cuLaunchHostFunc", queue, function, data), 0);
  ASSERT_EQ(cu("cuStreamSynchronize", queue), 0);

  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(seen.value, 5);
  EXPECT_NE(seen.thread, std::this_thread::get_id());
}

TEST_F(StandInStreams, CallbacksAreToldTheirStream) {
  const StreamPointer queue = stream();
  StreamPointer told = nullptr;
  void* data = &told;
  void (*callback)(StreamPointer, Result, void*) = [](StreamPointer given, Result, void* where) {
    *static_cast<StreamPointer*>(where) = given;
  };

  ASSERT_EQ(cu("cuStreamAddCallback", queue, callback, data, 0U), 0);
  ASSERT_EQ(cu("cuStreamSynchronize", queue), 0);

  EXPECT_EQ(told, queue);
}

}  // namespace
}  // namespace polypath::test::host_functions_test
