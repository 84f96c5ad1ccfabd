// Kernels of the simulated driver: how long they take, what is a race, and what is refused beyond
// what every driver refuses (conformance_kernels.test.cc).

#include <gmock/gmock.h>

#include "driver/hand_driver.h"
#include "support/add_kernel.h"
#include "support/errors.h"

namespace polypath::test::sim_kernel_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kBytes = 64;

class SimKernel : public HandDriver {
 protected:
  KernelRequest add(Address destination, Address source) {
    return {.kernel = kernel_,
            .gpu = gpu(0),
            .memory = {{.address = destination, .place = gpu(0), .bytes = {kBytes}, .writes = true},
                       {.address = source, .place = gpu(0), .bytes = {kBytes}}},
            .values = {kBytes / 4, 1},
            .duration = 50_us};
  }

  StreamHandle stream_ = driver_.create_stream(gpu(0));
  KernelHandle kernel_ = driver_.load_kernel(gpu(0), add_kernel());
  Address sum_ = memory(gpu(0), kBytes), source_ = memory(gpu(0), kBytes);
};

// The call 1 us, the kernel 50 us, 4 us until the thread knows.
TEST_F(SimKernel, TakesWhatItsCallSays) {
  driver_.run(add(sum_, source_), stream_);
  driver_.synchronize(stream_);

  expect_now(1 + 50 + 4);
}

TEST_F(SimKernel, IsInTheTraceWithAllItsBytes) {
  driver_.run(add(sum_, source_), stream_);

  const std::vector<sim::Span> trace = driver_.trace();
  ASSERT_EQ(trace.size(), 1U);
  EXPECT_EQ(trace[0].gpu, gpu(0));
  EXPECT_EQ(trace[0].bytes, Bytes{2 * kBytes});
  expect_time(trace[0].finished - trace[0].started, 50);
}

TEST_F(SimKernel, RacesWithWhoWritesWhatItReads) {
  const StreamHandle other = driver_.create_stream(gpu(0));

  copy(source_, memory(gpu(1), kBytes), kBytes, other);
  driver_.run(add(sum_, source_), stream_);

  EXPECT_THAT(driver_.violations(), Contains(HasSubstr("kernel 'add' of gpu0")));
}

TEST_F(SimKernel, DoesNotRaceWithAnotherThatReadsTheSame) {
  const StreamHandle other = driver_.create_stream(gpu(0));

  driver_.run(add(sum_, source_), stream_);
  driver_.run(add(memory(gpu(0), kBytes), source_), other);

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(SimKernel, RunsToItsEndAfterItWasUnloaded) {
  write(source_, pattern(kBytes, 1));
  driver_.run(add(sum_, source_), stream_);

  driver_.unload_kernel(kernel_);
  driver_.synchronize(stream_);

  EXPECT_NE(read(sum_, kBytes), read(source_, kBytes));
  EXPECT_EQ(read(sum_, 1)[0], static_cast<unsigned char>(read(source_, 1)[0] + 1));
}

TEST_F(SimKernel, IsALeakUntilItIsUnloaded) {
  EXPECT_THAT(driver_.leaks(), Contains("1 kernels"));

  driver_.unload_kernel(kernel_);

  EXPECT_THAT(driver_.leaks(), testing::Not(Contains("1 kernels")));
}

TEST_F(SimKernel, ThatIsNotLoadedIsRefused) {
  driver_.unload_kernel(kernel_);

  expect_invalid_argument([&] { driver_.run(add(sum_, source_), stream_); }, "does not exist");
  expect_invalid_argument([&] { driver_.unload_kernel(kernel_); }, "does not exist");
}

TEST_F(SimKernel, WithMemoryThatIsTooShortIsRefused) {
  KernelRequest beyond = add(sum_, source_);
  beyond.memory[1].bytes = {kBytes + 1};

  expect_invalid_argument([&] { driver_.run(beyond, stream_); }, "memory of a kernel");
}

TEST_F(SimKernel, OnAStreamOfAnotherGpuIsRefused) {
  const StreamHandle other = driver_.create_stream(gpu(1));

  expect_invalid_argument([&] { driver_.run(add(sum_, source_), other); }, "gpu1");
}

TEST_F(SimKernel, IsLoadedForGpusOnly) {
  expect_invalid_argument([&] { (void)driver_.load_kernel(kHost, add_kernel()); }, "no GPU");
}

}  // namespace
}  // namespace polypath::test::sim_kernel_test
