// Copies and fills between all kinds of memory, by all calls.

#include <algorithm>
#include <functional>

#include "standin/program.h"
#include "support/layers.h"

namespace polypath::test::copies_test {
namespace {

class StandInCopies : public StandIn {};

TEST_F(StandInCopies, EveryCallMovesTheBytes) {
  const Contents sent = pattern(kSmall, 1);
  const DevicePointer from = device(sent), to = device(kSmall, 1);
  const StreamPointer queue = stream();
  unsigned char* host = pinned(kSmall);
  std::copy(sent.begin(), sent.end(), host);
  const void* in = host;
  void* out = host;
  const std::size_t n = kSmall;
  struct Case {
    const char* name;
    std::function<Result()> copy;
    bool outwards;
  };
  const std::vector<Case> cases = {
      {"cuMemcpy", [&] { return cu("cuMemcpy", to, from, n); }, false},
      {"cuMemcpy_ptds", [&] { return cu("cuMemcpy_ptds", to, from, n); }, false},
      {"cuMemcpyDtoD_v2", [&] { return cu("cuMemcpyDtoD_v2", to, from, n); }, false},
      {"cuMemcpyHtoD_v2", [&] { return cu("cuMemcpyHtoD_v2", to, in, n); }, false},
      {"cuMemcpyHtoD_v2_ptds", [&] { return cu("cuMemcpyHtoD_v2_ptds", to, in, n); }, false},
      {"cuMemcpyDtoH_v2", [&] { return cu("cuMemcpyDtoH_v2", out, from, n); }, true},
      {"cuMemcpyPeer", [&] { return cu("cuMemcpyPeer", to, contexts_[1], from, contexts_[0], n); },
       false},
      {"cuMemcpyAsync", [&] { return cu("cuMemcpyAsync", to, from, n, queue); }, false},
      {"cuMemcpyAsync_ptsz", [&] { return cu("cuMemcpyAsync_ptsz", to, from, n, queue); }, false},
      {"cuMemcpyDtoDAsync_v2", [&] { return cu("cuMemcpyDtoDAsync_v2", to, from, n, queue); },
       false},
      {"cuMemcpyHtoDAsync_v2", [&] { return cu("cuMemcpyHtoDAsync_v2", to, in, n, queue); }, false},
      {"cuMemcpyDtoHAsync_v2", [&] { return cu("cuMemcpyDtoHAsync_v2", out, from, n, queue); },
       true},
      {"cuMemcpyPeerAsync",
       [&] { return cu("cuMemcpyPeerAsync", to, contexts_[1], from, contexts_[0], n, queue); },
       false},
  };

  for (const Case& tested : cases) {
    if (tested.outwards) std::fill_n(host, kSmall, 0);
    else write(to, Contents(kSmall));
    EXPECT_EQ(tested.copy(), 0) << tested.name;
    EXPECT_EQ(cu("cuCtxSynchronize"), 0);
    const Contents got = tested.outwards ? Contents(host, host + kSmall) : read(to, kSmall);
    EXPECT_TRUE(same_bytes(got, sent)) << tested.name;
    std::copy(sent.begin(), sent.end(), host);
  }
}

TEST_F(StandInCopies, OddSizesAndOffsetsTouchNothingElse) {
  const Contents sent = pattern(kSmall, 1), before = pattern(kSmall, 2);
  const DevicePointer from = device(sent), to = device(before, 1);
  Contents expected = before;
  std::copy_n(sent.begin() + 513, 1025, expected.begin() + 511);

  EXPECT_EQ(cu("cuMemcpyDtoD_v2", to + 511, from + 513, std::size_t{1025}), 0);

  EXPECT_TRUE(same_bytes(read(to, kSmall), expected));
}

// Both signatures: of CUDA 12.8 with a place for the failed one, of 13.0 without.
TEST_F(StandInCopies, BatchesMoveAllTheirBytes) {
  const Contents sent = pattern(kSmall, 1);
  const DevicePointer from = device(sent), to = device(kSmall, 1);
  const StreamPointer queue = stream();
  DevicePointer destinations[] = {to, to + 1000}, sources[] = {from, from + 1000};
  std::size_t sizes[] = {1000, kSmall - 1000}, failed = 0, first = 0;
  char attributes[64] = {};
  void* how = attributes;

  ASSERT_EQ(cu("cuMemcpyBatchAsync_v2", &destinations[0], &sources[0], &sizes[0], std::size_t{2},
               how, &first, std::size_t{1}, queue),
            0);
  ASSERT_EQ(cu("cuStreamSynchronize", queue), 0);
  EXPECT_TRUE(same_bytes(read(to, kSmall), sent));
  write(to, Contents(kSmall));
  ASSERT_EQ(cu("cuMemcpyBatchAsync", &destinations[0], &sources[0], &sizes[0], std::size_t{2}, how,
               &first, std::size_t{1}, &failed, queue),
            0);
  ASSERT_EQ(cu("cuStreamSynchronize", queue), 0);
  EXPECT_TRUE(same_bytes(read(to, kSmall), sent));
  EXPECT_EQ(failed, SIZE_MAX);

  sources[1] = 8;
  EXPECT_EQ(cu("cuMemcpyBatchAsync", &destinations[0], &sources[0], &sizes[0], std::size_t{2}, how,
               &first, std::size_t{1}, &failed, queue),
            cuda::kInvalidValue);
  EXPECT_EQ(failed, 1U);
}

TEST_F(StandInCopies, FillsRepeatTheirElement) {
  const DevicePointer memory = device(Contents(kSmall, 9));
  const StreamPointer queue = stream();
  Contents expected(kSmall, 9);
  for (std::size_t i = 0; i < 100; ++i) {
    expected[i] = 1;
    expected[200 + 2 * i] = 2, expected[201 + 2 * i] = 3;
    for (std::size_t byte = 0; byte < 4; ++byte)
      expected[1000 + 4 * i + byte] = static_cast<unsigned char>(byte + 4);
  }

  EXPECT_EQ(cu("cuMemsetD8_v2", memory, static_cast<unsigned char>(1), std::size_t{100}), 0);
  EXPECT_EQ(cu("cuMemsetD16Async", memory + 200, static_cast<unsigned short>(0x0302),
               std::size_t{100}, queue),
            0);
  EXPECT_EQ(cu("cuMemsetD32Async", memory + 1000, 0x07060504U, std::size_t{100}, queue), 0);
  EXPECT_EQ(cu("cuCtxSynchronize"), 0);

  EXPECT_TRUE(same_bytes(read(memory, kSmall), expected));
}

TEST_F(StandInCopies, NothingIsCopiedWhereNothingIsAskedFor) {
  const DevicePointer memory = device(kSmall);

  EXPECT_EQ(cu("cuMemcpyDtoD_v2", memory, memory, kSmall), 0);
  EXPECT_EQ(cu("cuMemcpyAsync", memory, DevicePointer{0}, std::size_t{0}, StreamPointer{}), 0);
}

TEST_F(StandInCopies, AddressesThatAreNobodysAreRefused) {
  const DevicePointer memory = device(kSmall), gone = device(kSmall);
  Contents own(kSmall);
  const void* ordinary = own.data();
  ASSERT_EQ(cu("cuMemFree_v2", gone), 0);

  EXPECT_EQ(cu("cuMemcpyDtoD_v2", memory, gone, kSmall), cuda::kInvalidValue);
  EXPECT_EQ(cu("cuMemcpy", memory, gone, kSmall), cuda::kInvalidValue);
  EXPECT_EQ(cu("cuMemcpy", memory, DevicePointer{8}, kSmall), cuda::kInvalidValue);
  EXPECT_EQ(cu("cuMemcpy", memory + 1, address(own.data()), kSmall), cuda::kInvalidValue);
  EXPECT_EQ(cu("cuMemcpyHtoD_v2", address(own.data() + 8), ordinary, std::size_t{8}),
            cuda::kInvalidValue);
  EXPECT_EQ(cu("cuMemsetD8_v2", memory + 1, static_cast<unsigned char>(1), kSmall),
            cuda::kInvalidValue);
}

// CUDA waits for synchronous copies between GPUs no more than for asynchronous ones, unless asked.
TEST_F(StandInCopies, BetweenGpusASynchronousCopyReturnsEarly) {
  const DevicePointer from = device(kLarge), to = device(kLarge, 1);
  unsigned on = 1;
  const void* value = &on;
  const StreamPointer legacy = nullptr;

  ASSERT_EQ(cu("cuMemcpyDtoD_v2", to, from, kLarge), 0);
  EXPECT_EQ(cu("cuStreamQuery", legacy), cuda::kNotReady);
  ASSERT_EQ(cu("cuStreamSynchronize", legacy), 0);
  ASSERT_EQ(cu("cuPointerSetAttribute", value, 6, to), 0);
  ASSERT_EQ(cu("cuMemcpyDtoD_v2", to, from, kLarge), 0);
  EXPECT_EQ(cu("cuStreamQuery", legacy), 0);
}

TEST_F(StandInCopies, PageableAndManagedMemoryIsCopiedBothWays) {
  const Contents sent = pattern(100003, 1);
  const DevicePointer memory = device(sent.size());
  DevicePointer managed = 0;
  ASSERT_EQ(cu("cuMemAllocManaged", &managed, sent.size(), 1U), 0);
  Contents back(sent.size());

  EXPECT_EQ(cu("cuMemcpy", memory, address(sent.data()), sent.size()), 0);
  EXPECT_EQ(cu("cuMemcpy", managed, memory, sent.size()), 0);
  EXPECT_EQ(cu("cuMemcpy", address(back.data()), managed, sent.size()), 0);

  EXPECT_TRUE(same_bytes(back, sent));
}

}  // namespace
}  // namespace polypath::test::copies_test
