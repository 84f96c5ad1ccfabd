// The conformance suite of conformance.h: kernels, in streams and in graphs.

#include <cstring>

#include "core/error.h"
#include "driver/conformance.h"
#include "support/add_kernel.h"
#include "support/errors.h"

namespace polypath::test {
namespace {

constexpr std::size_t kElements = kLarge / sizeof(std::uint32_t);

Contents filled(std::uint32_t value) {
  Contents contents(kLarge);
  for (std::size_t i = 0; i < kElements; ++i) std::memcpy(&contents[4 * i], &value, 4);
  return contents;
}

}  // namespace

void DriverKernels::SetUp() {
  DriverConformance::SetUp();
  if (IsSkipped()) return;
  try {
    kernel_ = kernel(gpu(), add_kernel());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    GTEST_SKIP() << error.what();
  }
}

KernelRequest DriverKernels::add(Address destination, Address source, std::uint32_t added) {
  const Bytes bytes{kLarge};
  return {.kernel = kernel_,
          .gpu = gpu(),
          .memory = {{.address = destination, .place = gpu(), .bytes = bytes, .writes = true},
                     {.address = source, .place = gpu(), .bytes = bytes}},
          .values = {kElements, added},
          .shape = shape_for(kElements),
          .duration = 20_us};
}

namespace {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DriverKernels);

TEST_P(DriverKernels, AKernelIsInOrderWithTheCopiesOfItsStream) {
  const Address sent = allocate(host(), filled(5)), back = allocate(host(), Bytes{kLarge});
  const Address source = allocate(gpu(), Bytes{kLarge}), sum = allocate(gpu(), Bytes{kLarge});
  const StreamHandle queue = stream(gpu());

  copy(source, sent, kLarge, queue);
  driver().run(add(sum, source, 7), queue);
  driver().run(add(sum, sum, 30), queue);
  copy(back, sum, kLarge, queue);

  EXPECT_TRUE(same_bytes(read(back, kLarge), filled(42)));
}

TEST_P(DriverKernels, AnEventStandsForTheKernelBeforeIt) {
  const Address source = allocate(gpu(), filled(1)), sum = allocate(gpu(), Bytes{kLarge});
  const Address there = allocate(peer(), Bytes{kLarge});
  const StreamHandle queue = stream(gpu()), other = stream(peer());
  const EventHandle added = event(gpu());

  driver().run(add(sum, source, 1), queue);
  driver().record(added, queue);
  driver().wait(other, added);
  copy(there, sum, kLarge, other);

  EXPECT_TRUE(same_bytes(read(there, kLarge), filled(2)));
}

TEST_P(DriverKernels, AGraphHasKernelsBetweenCopies) {
  const Address sent = allocate(host(), filled(5)), back = allocate(peer(), Bytes{kLarge});
  const Address source = allocate(gpu(), Bytes{kLarge}), sum = allocate(gpu(), Bytes{kLarge});
  const GraphHandle made = graph({{request(source, sent, kLarge), {}},
                                  {.copy = {}, .after = {0}, .kernel = add(sum, source, 3)},
                                  {request(back, sum, kLarge), {1}}});

  driver().launch(made, stream(gpu()));

  EXPECT_TRUE(same_bytes(read(back, kLarge), filled(8)));
}

TEST_P(DriverKernels, AKernelOfAGraphIsGivenOtherMemoryForLaterLaunches) {
  const Address first = allocate(gpu(), filled(10)), second = allocate(gpu(), filled(20));
  const Address sum = allocate(gpu(), Bytes{kLarge}), other_sum = allocate(gpu(), Bytes{kLarge});
  const GraphHandle made = graph({{.copy = {}, .after = {}, .kernel = add(sum, first, 1)}});
  const StreamHandle queue = stream(gpu());
  driver().launch(made, queue);

  driver().update_kernel(made, 0, {other_sum, second});
  driver().launch(made, queue);

  EXPECT_TRUE(same_bytes(read(sum, kLarge), filled(11)));
  EXPECT_TRUE(same_bytes(read(other_sum, kLarge), filled(21)));
}

TEST_P(DriverKernels, NodesAreUpdatedAsWhatTheyAre) {
  const Address source = allocate(gpu(), filled(1)), sum = allocate(gpu(), Bytes{kLarge});
  const Address there = allocate(host(), Bytes{kLarge});
  const GraphHandle made = graph({{.copy = {}, .after = {}, .kernel = add(sum, source, 1)},
                                  {request(there, sum, kLarge), {0}}});

  expect_invalid_argument([&] { driver().update_node(made, 0, sum, source); }, "is a kernel");
  expect_invalid_argument([&] { driver().update_kernel(made, 1, {sum, source}); }, "no kernel");
  expect_invalid_argument([&] { driver().update_kernel(made, 0, {sum}); }, "cannot be given 1");
  expect_invalid_argument([&] { driver().update_kernel(made, 2, {}); }, "node");
}

TEST_P(DriverKernels, ReachMemoryOfTheHostAndOfPeers) {
  const Address near = allocate(gpu(), filled(1)), far = allocate(peer(), filled(1));
  const Address pinned = allocate(host(), filled(1));

  EXPECT_TRUE(driver().kernels_reach(gpu(), near));
  EXPECT_EQ(driver().kernels_reach(gpu(), far), has_peers() || peer() == gpu());
  EXPECT_TRUE(driver().kernels_reach(gpu(), pinned));
}

TEST_P(DriverKernels, ReachNoPageableMemory) {
  std::vector<std::uint32_t> pageable(kLarge / 4);

  EXPECT_FALSE(
      driver().kernels_reach(gpu(), Address{reinterpret_cast<std::uintptr_t>(pageable.data())}));
}

TEST_P(DriverKernels, UseMemoryOfOtherPlaces) {
  const Address source = allocate(host(), filled(1)), sum = allocate(peer(), Bytes{kLarge});
  if (!has_peers()) GTEST_SKIP() << "the GPUs do not reach each other";
  KernelRequest across = add(sum, source, 5);
  across.memory[0].place = peer();
  across.memory[1].place = host();

  driver().run(across, stream(gpu()));

  EXPECT_TRUE(same_bytes(read(sum, kLarge), filled(6)));
}

TEST_P(DriverKernels, AKernelRunsOnTheGpuItWasLoadedFor) {
  if (peer() == gpu()) GTEST_SKIP() << "there is one GPU";
  KernelRequest elsewhere = add(allocate(peer(), Bytes{kLarge}), allocate(peer(), filled(1)), 1);
  elsewhere.gpu = peer();
  for (KernelMemory& memory : elsewhere.memory) memory.place = peer();

  expect_invalid_argument([&] { driver().run(elsewhere, stream(peer())); }, "cannot run there");
}

TEST_P(DriverKernels, WhatTheDriverCannotUseIsNotLoaded) {
  Kernel empty = add_kernel();
  empty.image.clear(), empty.on_host = nullptr;

  expect_invalid_argument([&] { (void)driver().load_kernel(gpu(), empty); }, "kernel 'add'");
}

}  // namespace
}  // namespace polypath::test
