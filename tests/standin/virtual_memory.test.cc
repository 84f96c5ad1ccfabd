// Memory apart from addresses: who may use it, when it is given back, and that nothing waits.

#include <sys/mman.h>
#include <unistd.h>

#include "standin/program.h"
#include "support/layers.h"

namespace polypath::test::virtual_memory_test {
namespace {

constexpr std::size_t kUnit = std::size_t{2} << 20;

class StandInVirtualMemory : public StandIn {
 protected:
  static Result create(std::uint64_t* memory, std::size_t size, int gpu, int handles = 0) {
    cuda::MemoryProperties wanted;
    wanted.location.id = gpu, wanted.handle_types = handles;
    return cu("cuMemCreate", memory, size, &wanted, 0ULL);
  }
  static DevicePointer reserve(std::size_t size) {
    DevicePointer begin = 0;
    EXPECT_EQ(cu("cuMemAddressReserve", &begin, size, std::size_t{0}, DevicePointer{0}, 0ULL), 0);
    return begin;
  }
  static Result map(DevicePointer begin, std::uint64_t memory, std::size_t size = kUnit) {
    return cu("cuMemMap", begin, size, std::size_t{0}, memory, 0ULL);
  }
  static Result open(DevicePointer begin, int gpu, std::size_t size = kUnit) {
    cuda::MemoryUser user;
    user.location.id = gpu;
    return cu("cuMemSetAccess", begin, size, &user, std::size_t{1});
  }
  static unsigned long long access(DevicePointer pointer, int gpu) {
    unsigned long long flags = 99;
    cuda::MemoryLocation location;
    location.id = gpu;
    EXPECT_EQ(cu("cuMemGetAccess", &flags, &location, pointer), 0);
    return flags;
  }
  static std::size_t attribute(int which, DevicePointer pointer) {
    std::size_t value = 0;
    void* where = &value;
    EXPECT_EQ(cu("cuPointerGetAttribute", where, which, pointer), 0);
    return value;
  }
  static std::size_t free_bytes() {
    std::size_t free = 0, total = 0;
    EXPECT_EQ(cu("cuMemGetInfo_v2", &free, &total), 0);
    return free;
  }
};

TEST_F(StandInVirtualMemory, IsUsedByThoseItIsOpenedTo) {
  std::uint64_t memory = 0;
  ASSERT_EQ(create(&memory, kUnit, 1), 0);
  const DevicePointer begin = reserve(kUnit);
  ASSERT_EQ(map(begin, memory), 0);
  ASSERT_EQ(open(begin, 0), 0);
  const Contents bytes = pattern(kSmall, 1);

  write(begin, bytes);
  EXPECT_EQ(read(begin, kSmall), bytes);

  use(1);
  EXPECT_EQ(cu("cuMemcpyDtoD_v2", begin, begin + kSmall, kSmall), cuda::kInvalidValue);
  EXPECT_EQ(cu("cuMemUnmap", begin, kUnit), 0);
  EXPECT_EQ(cu("cuMemRelease", memory), 0);
  EXPECT_EQ(cu("cuMemAddressFree", begin, kUnit), 0);
}

TEST_F(StandInVirtualMemory, LivesUntilItIsReleasedAndNowhereMapped) {
  const std::size_t before = free_bytes();
  std::uint64_t memory = 0;
  ASSERT_EQ(create(&memory, kUnit, 0), 0);
  const DevicePointer begin = reserve(kUnit);
  ASSERT_EQ(map(begin, memory), 0);

  EXPECT_EQ(cu("cuMemRelease", memory), 0);
  EXPECT_EQ(free_bytes(), before - kUnit);
  EXPECT_EQ(cu("cuMemAddressFree", begin, kUnit), cuda::kInvalidValue);
  EXPECT_EQ(cu("cuMemUnmap", begin, kUnit), 0);

  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(cu("cuMemAddressFree", begin, kUnit), 0);
}

TEST_F(StandInVirtualMemory, RefusesWhatDoesNotFit) {
  std::uint64_t memory = 0;
  EXPECT_EQ(create(&memory, kUnit + 1, 0), cuda::kInvalidValue);
  ASSERT_EQ(create(&memory, kUnit, 0), 0);
  const DevicePointer begin = reserve(kUnit);

  EXPECT_EQ(map(begin + kUnit, memory), cuda::kInvalidValue);
  EXPECT_EQ(map(begin, memory + 7), cuda::kInvalidValue);
  EXPECT_EQ(open(begin, 0), cuda::kInvalidValue);
  ASSERT_EQ(map(begin, memory), 0);
  EXPECT_EQ(map(begin, memory), cuda::kInvalidValue);

  EXPECT_EQ(cu("cuMemUnmap", begin, kUnit), 0);
  EXPECT_EQ(cu("cuMemRelease", memory), 0);
  EXPECT_EQ(cu("cuMemRelease", memory), cuda::kInvalidValue);
  EXPECT_EQ(cu("cuMemAddressFree", begin, kUnit), 0);
}

TEST_F(StandInVirtualMemory, SaysWhoMayUseIt) {
  std::uint64_t memory = 0;
  ASSERT_EQ(create(&memory, kUnit, 0), 0);
  const DevicePointer begin = reserve(kUnit);
  ASSERT_EQ(map(begin, memory), 0);

  EXPECT_EQ(access(begin, 0), 0U);
  ASSERT_EQ(open(begin, 0), 0);
  EXPECT_EQ(access(begin + 7, 0), 3U);
  EXPECT_EQ(access(begin, 1), 0U);

  EXPECT_EQ(cu("cuMemUnmap", begin, kUnit), 0);
  EXPECT_EQ(cu("cuMemRelease", memory), 0);
  EXPECT_EQ(cu("cuMemAddressFree", begin, kUnit), 0);
}

TEST_F(StandInVirtualMemory, OfOtherMemoryNobodyIsSaidToMayUseIt) {
  const DevicePointer memory = device(kSmall);
  const DevicePointer host = address(pinned(kSmall));

  EXPECT_EQ(access(memory, 0), 0U);
  EXPECT_EQ(access(host, 0), 0U);
}

TEST_F(StandInVirtualMemory, SeveralMemoriesAreOneRangeOfAddresses) {
  constexpr int kRangeStart = 11, kRangeSize = 12, kMappingSize = 18, kMappingBase = 19;
  std::uint64_t first = 0, second = 0;
  ASSERT_EQ(create(&first, kUnit, 0), 0);
  ASSERT_EQ(create(&second, kUnit, 0), 0);
  const DevicePointer begin = reserve(3 * kUnit);
  ASSERT_EQ(map(begin, first), 0);
  ASSERT_EQ(map(begin + kUnit, second), 0);
  ASSERT_EQ(open(begin, 0, 2 * kUnit), 0);
  const Contents bytes = pattern(kUnit, 1);

  write(begin + kUnit / 2, bytes);
  EXPECT_EQ(read(begin + kUnit / 2, kUnit), bytes);
  EXPECT_EQ(attribute(kRangeStart, begin + kUnit), begin);
  EXPECT_EQ(attribute(kRangeSize, begin + kUnit), 3 * kUnit);
  EXPECT_EQ(attribute(kMappingBase, begin + kUnit + 1), begin + kUnit);
  EXPECT_EQ(attribute(kMappingSize, begin + kUnit + 1), kUnit);
  EXPECT_EQ(cu("cuMemcpyDtoD_v2", begin, begin + kUnit + kSmall, kUnit), cuda::kInvalidValue);

  EXPECT_EQ(cu("cuMemUnmap", begin, kUnit / 2), cuda::kInvalidValue);
  EXPECT_EQ(cu("cuMemUnmap", begin, 2 * kUnit), 0);
  EXPECT_EQ(cu("cuMemRelease", first), 0);
  EXPECT_EQ(cu("cuMemRelease", second), 0);
  EXPECT_EQ(cu("cuMemAddressFree", begin, 3 * kUnit), 0);
}

TEST_F(StandInVirtualMemory, IsTheSameWhereverItIsMapped) {
  std::uint64_t memory = 0;
  ASSERT_EQ(create(&memory, kUnit, 0), 0);
  const DevicePointer begin = reserve(2 * kUnit);
  ASSERT_EQ(map(begin, memory), 0);
  ASSERT_EQ(map(begin + kUnit, memory), 0);
  ASSERT_EQ(open(begin, 0, 2 * kUnit), 0);
  const Contents bytes = pattern(kSmall, 1);

  write(begin, bytes);
  EXPECT_EQ(read(begin + kUnit, kSmall), bytes);

  EXPECT_EQ(cu("cuMemUnmap", begin, kUnit), 0);
  ASSERT_EQ(map(begin, memory), 0);
  EXPECT_EQ(access(begin, 0), 0U);
  ASSERT_EQ(open(begin, 0), 0);
  EXPECT_EQ(read(begin, kSmall), bytes);
  EXPECT_EQ(cu("cuMemUnmap", begin, 2 * kUnit), 0);
  EXPECT_EQ(cu("cuMemRelease", memory), 0);
  EXPECT_EQ(cu("cuMemAddressFree", begin, 2 * kUnit), 0);
}

// Also of a capture (results/h200x2/capture.json).
TEST_F(StandInVirtualMemory, DisturbsNobody) {
  const StreamPointer captured = stream();
  cuda::GraphPointer graph = nullptr;
  std::uint64_t memory = 0;
  ASSERT_EQ(cu("cuStreamBeginCapture_v2", captured, 0), 0);

  ASSERT_EQ(create(&memory, kUnit, 0), 0);
  EXPECT_EQ(cu("cuMemRelease", memory), 0);

  EXPECT_EQ(cu("cuStreamEndCapture", captured, &graph), 0);
}

// As on H200s (driver 580): another reference, and a number of its own for each mapping.
TEST_F(StandInVirtualMemory, IsFoundByItsAddress) {
  constexpr int kNumber = 7;  // CU_POINTER_ATTRIBUTE_BUFFER_ID
  std::uint64_t memory = 0, found = 0;
  ASSERT_EQ(create(&memory, kUnit, 1), 0);
  const DevicePointer begin = reserve(2 * kUnit);
  ASSERT_EQ(map(begin, memory), 0);
  const std::size_t number = attribute(kNumber, begin);

  const auto at = [](DevicePointer address) { return reinterpret_cast<void*>(address); };
  EXPECT_EQ(cu("cuMemRetainAllocationHandle", &found, at(begin + kUnit / 2)), 0);
  EXPECT_EQ(found, memory);
  EXPECT_EQ(cu("cuMemRetainAllocationHandle", &found, at(begin + kUnit)), cuda::kInvalidValue);

  EXPECT_EQ(cu("cuMemRelease", memory), 0);
  EXPECT_EQ(cu("cuMemUnmap", begin, kUnit), 0);
  EXPECT_EQ(map(begin, memory), 0) << "one reference is left";
  EXPECT_NE(attribute(kNumber, begin), number);
  EXPECT_EQ(cu("cuMemRelease", memory), 0);
  EXPECT_EQ(cu("cuMemRelease", memory), cuda::kInvalidValue);
}

TEST_F(StandInVirtualMemory, IsHandedOutByAFile) {
  std::uint64_t memory = 0, imported = 0;
  int file = -1;
  ASSERT_EQ(create(&memory, kUnit, 1, cuda::kFileHandles), 0);
  const DevicePointer begin = reserve(2 * kUnit), other = begin + kUnit;
  ASSERT_EQ(map(begin, memory), 0);
  ASSERT_EQ(open(begin, 0), 0);
  const Contents bytes = pattern(kSmall, 1);
  write(begin, bytes);

  ASSERT_EQ(cu("cuMemExportToShareableHandle", &file, memory, cuda::kFileHandles, 0ULL), 0);
  void* const number = reinterpret_cast<void*>(static_cast<std::intptr_t>(file));
  ASSERT_EQ(cu("cuMemImportFromShareableHandle", &imported, number, cuda::kFileHandles), 0);
  close(file);
  EXPECT_EQ(cu("cuMemUnmap", begin, kUnit), 0);
  EXPECT_EQ(cu("cuMemRelease", memory), 0);

  ASSERT_EQ(map(other, imported), 0);
  ASSERT_EQ(open(other, 0), 0);
  EXPECT_EQ(read(other, kSmall), bytes);
}

TEST_F(StandInVirtualMemory, IsHandedOutOnlyIfItWasMadeForThat) {
  std::uint64_t memory = 0;
  int file = -1;
  ASSERT_EQ(create(&memory, kUnit, 1), 0);
  EXPECT_EQ(cu("cuMemExportToShareableHandle", &file, memory, cuda::kFileHandles, 0ULL),
            cuda::kInvalidValue);
  const int unrelated = memfd_create("unrelated", MFD_CLOEXEC);
  void* const number = reinterpret_cast<void*>(static_cast<std::intptr_t>(unrelated));
  EXPECT_EQ(cu("cuMemImportFromShareableHandle", &memory, number, cuda::kFileHandles),
            cuda::kInvalidValue);
  close(unrelated);
}

}  // namespace
}  // namespace polypath::test::virtual_memory_test
