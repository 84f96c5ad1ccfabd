#include "chaos/chaotic_program.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "support/layers.h"

namespace polypath::test {
namespace {

constexpr unsigned kTimeout = 30;  // seconds, after which a program is said to hang
constexpr int kFailed = 101;
constexpr int kSeeds = 5;        // where every one must do
constexpr int kMostSeeds = 300;  // until what is allowed has been seen
constexpr auto kRope = std::chrono::milliseconds(10);

}  // namespace

void Gate::close(StreamPointer stream) {
  void (*function)(void*) = [](void* gate) { static_cast<Gate*>(gate)->closed_.acquire(); };
  void* data = this;
  ASSERT_EQ(cu("cuLaunchHostFunc", stream, function, data), 0);
}

void Gate::open_later() {
  std::thread([this] {
    std::this_thread::sleep_for(kRope);
    open_ = true;
    open();
  }).detach();
}

int Chaos::run(const Variables& environment, const std::function<int()>& program) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(kTimeout);
    for (const char* variable : {"STANDIN_CHAOS", "STANDIN_QUEUE_DEPTH"}) unsetenv(variable);
    setenv("STANDIN_STRICT", "1", 1);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    StandIn::SetUp();
    const int result = program();
    std::exit(HasFailure() ? kFailed : result);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status)
                                 << (WTERMSIG(status) == SIGALRM ? ": it hangs" : "");
  const int result = WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
  EXPECT_LT(result, 86) << "the program failed, or the driver found something wrong";
  return result;
}

bool Chaos::happens(int outcome, const std::function<int()>& program) {
  for (int seed = 1; seed <= kMostSeeds && !HasFailure(); ++seed)
    if (run(seed, program) == outcome) return true;
  return false;
}

bool Chaos::always(int outcome, const std::function<int()>& program) {
  for (int seed = 1; seed <= kSeeds; ++seed)
    if (run(seed, program) != outcome) return false;
  return true;
}

StreamPointer Chaos::stream_of(int gpu, unsigned flags) {
  EXPECT_EQ(cu("cuCtxSetCurrent", context_of(gpu)), 0);
  const StreamPointer made = stream(flags);
  use(0);
  return made;
}

EventPointer Chaos::recorded(StreamPointer stream) {
  const EventPointer made = event();
  EXPECT_EQ(cu("cuEventRecord", made, stream), 0);
  return made;
}

void Chaos::fill(DevicePointer to, unsigned char value, std::size_t bytes, StreamPointer stream) {
  EXPECT_EQ(cu("cuMemsetD8Async", to, value, bytes, stream), 0);
}

void Chaos::copy(DevicePointer to, DevicePointer from, std::size_t bytes, StreamPointer stream) {
  EXPECT_EQ(cu("cuMemcpyDtoDAsync_v2", to, from, bytes, stream), 0);
}

bool Chaos::is_done(StreamPointer stream) { return cu("cuStreamQuery", stream) == 0; }
bool Chaos::is_done(EventPointer event) { return cu("cuEventQuery", event) == 0; }
void Chaos::finish(StreamPointer stream) { EXPECT_EQ(cu("cuStreamSynchronize", stream), 0); }

DevicePointer Chaos::filled(std::size_t bytes, unsigned char value, int gpu) {
  const StreamPointer own = stream_of(gpu);
  EXPECT_EQ(cu("cuCtxSetCurrent", context_of(gpu)), 0);
  DevicePointer memory = 0;
  EXPECT_EQ(cu("cuMemAlloc_v2", &memory, bytes), 0);
  use(0);
  fill(memory, value, bytes, own);
  finish(own);
  return memory;
}

Contents Chaos::contents(DevicePointer from, std::size_t bytes) {
  Contents read(bytes);
  void* to = read.data();
  EXPECT_EQ(cu("cuMemcpyDtoHAsync_v2", to, from, bytes, stream()), 0);
  return read;
}

int Chaos::all_are(DevicePointer memory, unsigned char value) {
  return contents(memory, kPieces) == Contents(kPieces, value) ? 1 : 0;
}

ContextPointer Chaos::context_of(int gpu) {
  ContextPointer context = nullptr;
  EXPECT_EQ(cu("cuDevicePrimaryCtxRetain", &context, gpu), 0);
  return context;
}

}  // namespace polypath::test
