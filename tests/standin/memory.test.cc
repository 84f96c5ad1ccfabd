// Memory of all kinds, and what the stand-in says of an address.

#include <csignal>
#include <set>

#include "standin/program.h"
#include "support/layers.h"

namespace polypath::test::memory_test {
namespace {

using standin::kHostMemoryAlreadyRegistered;
using standin::kHostMemoryNotRegistered;
using standin::kNotFound;

// CUpointer_attribute
constexpr int kContext = 1, kMemoryType = 2, kHostPointer = 4, kSyncMemops = 6, kBufferId = 7;
constexpr int kIsManaged = 8, kOrdinal = 9, kRangeStart = 11, kRangeSize = 12;

class StandInMemory : public StandIn {
 protected:
  template <class Value>
  static Value attribute(int which, DevicePointer pointer) {
    Value value{};
    void* where = &value;
    EXPECT_EQ(cu("cuPointerGetAttribute", where, which, pointer), 0) << "attribute " << which;
    return value;
  }
  static Result ask(int which, DevicePointer pointer) {
    std::uint64_t value = 0;
    void* where = &value;
    return cu("cuPointerGetAttribute", where, which, pointer);
  }
};

TEST_F(StandInMemory, DeviceMemoryFaultsWhenTheHostTouchesIt) {
  const DevicePointer pointer = device(kSmall);
  auto* touched = reinterpret_cast<volatile char*>(pointer);
  // By a program without handlers: a sanitizer's would make an exit of the signal.
  const auto without_handler = [](auto touch) {
    std::signal(SIGSEGV, SIG_DFL);
    touch();
  };

  EXPECT_EXIT(without_handler([&] { [[maybe_unused]] const char read = *touched; }),
              testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(without_handler([&] { *touched = 1; }), testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(StandInMemory, DeviceMemoryIsTheGpusOwn) {
  const DevicePointer pointer = device(kSmall, 1);

  EXPECT_EQ(attribute<unsigned>(kMemoryType, pointer + 5), 2U);
  EXPECT_EQ(attribute<int>(kOrdinal, pointer + 5), 1);
  EXPECT_EQ(attribute<ContextPointer>(kContext, pointer + 5), contexts_[1]);
  EXPECT_EQ(attribute<DevicePointer>(kRangeStart, pointer + 5), pointer);
  EXPECT_EQ(attribute<std::size_t>(kRangeSize, pointer + 5), kSmall);
  EXPECT_EQ(attribute<unsigned>(kIsManaged, pointer), 0U);
  EXPECT_EQ(ask(kHostPointer, pointer), cuda::kInvalidValue);
}

TEST_F(StandInMemory, AddressRangesAreThoseOfTheAllocation) {
  const DevicePointer pointer = device(1000);
  DevicePointer base = 0;
  std::size_t size = 0;

  EXPECT_EQ(cu("cuMemGetAddressRange_v2", &base, &size, pointer + 999), 0);
  EXPECT_EQ(base, pointer);
  EXPECT_EQ(size, 1000U);
  EXPECT_EQ(cu("cuMemGetAddressRange_v2", &base, &size, address(&size)), kNotFound);
}

TEST_F(StandInMemory, PinnedMemoryIsTheHostsAndCanBeTouched) {
  unsigned char* memory = pinned(kSmall);
  memory[kSmall - 1] = 7;

  EXPECT_EQ(attribute<unsigned>(kMemoryType, address(memory)), 1U);
  EXPECT_EQ(attribute<void*>(kHostPointer, address(memory + 3)), memory + 3);
  EXPECT_EQ(cu("cuMemFreeHost", static_cast<void*>(memory)), 0);
  EXPECT_EQ(ask(kMemoryType, address(memory)), cuda::kInvalidValue);
}

TEST_F(StandInMemory, ManagedMemoryCanBeTouchedAndCountsAsAGpus) {
  DevicePointer pointer = 0;
  ASSERT_EQ(cu("cuMemAllocManaged", &pointer, kSmall, 1U), 0);
  reinterpret_cast<unsigned char*>(pointer)[5] = 7;

  EXPECT_EQ(attribute<unsigned>(kIsManaged, pointer), 1U);
  EXPECT_EQ(attribute<unsigned>(kMemoryType, pointer), 2U);
  EXPECT_EQ(read(pointer, 6), Contents({0, 0, 0, 0, 0, 7}));
  EXPECT_EQ(cu("cuMemFree_v2", pointer), 0);
}

TEST_F(StandInMemory, OwnMemoryIsPinnedWhileItIsRegistered) {
  Contents own = pattern(kSmall, 1);
  void* begin = own.data() + 8;

  EXPECT_EQ(ask(kMemoryType, address(begin)), cuda::kInvalidValue);
  ASSERT_EQ(cu("cuMemHostRegister_v2", begin, std::size_t{1000}, 0U), 0);
  EXPECT_EQ(attribute<unsigned>(kMemoryType, address(begin) + 999), 1U);
  EXPECT_EQ(ask(kMemoryType, address(begin) + 1000), cuda::kInvalidValue);
  EXPECT_EQ(cu("cuMemHostRegister_v2", static_cast<void*>(own.data()), kSmall, 0U),
            kHostMemoryAlreadyRegistered);
  ASSERT_EQ(cu("cuMemHostUnregister", begin), 0);
  EXPECT_EQ(ask(kMemoryType, address(begin)), cuda::kInvalidValue);
  EXPECT_EQ(cu("cuMemHostUnregister", begin), kHostMemoryNotRegistered);
}

// As of CUDA: one attribute is refused, all together are zeros.
TEST_F(StandInMemory, OrdinaryMemoryIsUnknown) {
  Contents own(64);
  unsigned type = 9, managed = 9;
  int ordinal = 9;
  int which[] = {kMemoryType, kIsManaged, kOrdinal};
  void* where[] = {&type, &managed, &ordinal};

  EXPECT_EQ(ask(kMemoryType, address(own.data())), cuda::kInvalidValue);
  EXPECT_EQ(cu("cuPointerGetAttributes", 3U, static_cast<int*>(which), static_cast<void**>(where),
               address(own.data())),
            0);
  EXPECT_EQ(type, 0U);
  EXPECT_EQ(managed, 0U);
  EXPECT_EQ(ordinal, standin::kInvalidOrdinal);
}

TEST_F(StandInMemory, BufferIdsAreNeverUsedAgain) {
  std::set<unsigned long long> ids;

  for (int i = 0; i < 20; ++i) {
    const DevicePointer pointer = device(kSmall);
    ids.insert(attribute<unsigned long long>(kBufferId, pointer));
    EXPECT_EQ(cu("cuMemFree_v2", pointer), 0);
  }

  EXPECT_EQ(ids.size(), 20U);
}

TEST_F(StandInMemory, SynchronousCopiesCanBeAskedFor) {
  const DevicePointer pointer = device(kSmall);
  unsigned on = 1;
  const void* value = &on;

  EXPECT_EQ(attribute<unsigned>(kSyncMemops, pointer), 0U);
  EXPECT_EQ(cu("cuPointerSetAttribute", value, kSyncMemops, pointer), 0);
  EXPECT_EQ(attribute<unsigned>(kSyncMemops, pointer), 1U);
}

TEST_F(StandInMemory, OnlyWhatWasAllocatedIsFreedAndOnlyOnce) {
  const DevicePointer pointer = device(kSmall);

  EXPECT_EQ(cu("cuMemFree_v2", pointer + 8), cuda::kInvalidValue);
  EXPECT_EQ(cu("cuMemFreeHost", reinterpret_cast<void*>(pointer)), cuda::kInvalidValue);
  EXPECT_EQ(cu("cuMemFree_v2", pointer), 0);
  EXPECT_EQ(cu("cuMemFree_v2", pointer), cuda::kInvalidValue);
  EXPECT_EQ(cu("cuMemFree_v2", DevicePointer{0}), 0);
}

TEST_F(StandInMemory, AGpusMemoryEnds) {
  std::size_t free = 0, total = 0, left = 0;
  DevicePointer pointer = 0;
  ASSERT_EQ(cu("cuMemGetInfo_v2", &free, &total), 0);

  EXPECT_EQ(cu("cuMemAlloc_v2", &pointer, total + 1), cuda::kOutOfMemory);
  ASSERT_EQ(cu("cuMemAlloc_v2", &pointer, free - kSmall), 0);
  EXPECT_EQ(cu("cuMemGetInfo_v2", &left, &total), 0);
  EXPECT_EQ(left, kSmall);
  DevicePointer more = 0;
  EXPECT_EQ(cu("cuMemAlloc_v2", &more, kSmall + 1), cuda::kOutOfMemory);
  EXPECT_EQ(cu("cuMemFree_v2", pointer), 0);
}

TEST_F(StandInMemory, NeedsAContext) {
  DevicePointer pointer = 0;
  ContextPointer popped = nullptr;
  ASSERT_EQ(cu("cuCtxPopCurrent_v2", &popped), 0);

  EXPECT_EQ(cu("cuMemAlloc_v2", &pointer, kSmall), standin::kInvalidContext);

  ASSERT_EQ(cu("cuCtxPushCurrent_v2", popped), 0);
}

}  // namespace
}  // namespace polypath::test::memory_test
