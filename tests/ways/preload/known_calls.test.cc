// Calls that are known, told apart from others.

#include "ways/preload/known_calls.h"

#include <gtest/gtest.h>

namespace polypath::preload {
namespace {

template <class Pointer>
Pointer numbered(std::uintptr_t number) {
  return reinterpret_cast<Pointer>(number);
}

ProgramCopy copy(std::uintptr_t destination = 0x7f0000200000, std::uintptr_t stream = 0x100) {
  return {{destination}, {0x7e0000400000}, 64_MiB, numbered<cuda::StreamPointer>(stream), false};
}

KnownCalls::Known known(cuda::ContextPointer context = nullptr) {
  return {{{1}, {2}, 64_MiB, {3}, {0}, {}}, StreamWatch::Order::alone, context};
}

TEST(KnownCalls, KnowsWhatItWasTold) {
  KnownCalls calls;
  EXPECT_EQ(calls.find(copy(), nullptr), nullptr);

  calls.remember(copy(), known());

  ASSERT_NE(calls.find(copy(), nullptr), nullptr);
  EXPECT_EQ(calls.find(copy(), nullptr)->call.stream, StreamHandle{3});
}

TEST(KnownCalls, IsAboutThisMemoryThisStreamAndThisContext) {
  KnownCalls calls;
  const auto context = numbered<cuda::ContextPointer>(0x200);
  calls.remember(copy(), known(context));

  EXPECT_EQ(calls.find(copy(0x7f0000200100), context), nullptr);
  EXPECT_EQ(calls.find(copy(0x7f0000200000, 0x101), context), nullptr);
  EXPECT_EQ(calls.find(copy(), nullptr), nullptr);
  ProgramCopy blocking = copy();
  blocking.blocking = true;
  EXPECT_EQ(calls.find(blocking, context), nullptr);
  EXPECT_NE(calls.find(copy(), context), nullptr);
}

// The program may have other memory there by now.
TEST(KnownCalls, LooksAgainAfterSomeUses) {
  KnownCalls calls;
  calls.remember(copy(), known());
  for (int i = 0; i < KnownCalls::kUses; ++i) EXPECT_NE(calls.find(copy(), nullptr), nullptr);

  EXPECT_EQ(calls.find(copy(), nullptr), nullptr);
}

}  // namespace
}  // namespace polypath::preload
