// Memory that this process exports is known to others as long as it is there.

#include <gmock/gmock.h>

#include <algorithm>

#include "api/preload/imports/shared_memory.h"
#include "support/layers.h"

namespace polypath::test::exporting_test {
namespace {

namespace fs = std::filesystem;

using preload::SharedMemory;

class Exporting : public SharedMemoryTest {
 protected:
  Address allocate() { return SharedMemoryTest::allocate(2, kShared); }
  /// All at once, so that no two have one address.
  std::vector<Address> allocate_many(std::size_t count) {
    std::vector<Address> made(count);
    std::generate(made.begin(), made.end(), [&] { return allocate(); });
    return made;
  }
  /// Frees it in a way that Polypath does not see, and takes its address for other memory.
  void replace(Address memory) {
    free(memory);
    ASSERT_EQ(allocate(), memory) << "the driver hands out first what was given back last";
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
};

TEST_F(Exporting, OthersAreToldOfTheWholeAllocation) {
  const Address memory = allocate();

  shared_.exported(handle(1), memory.value + 4096);

  const auto found = registry_.find(handle(1));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->base, memory.value);
  EXPECT_EQ(found->size, kShared);
  EXPECT_EQ(found->generation, id_of(memory));
  EXPECT_EQ(found->owner, uuid_of(2));
}

TEST_F(Exporting, WhatIsFreedIsWithdrawn) {
  const Address memory = allocate();
  shared_.exported(handle(1), memory.value);

  shared_.freeing(memory.value);

  EXPECT_EQ(files(), 0U);
}

TEST_F(Exporting, AtTheEndEverythingIsWithdrawn) {
  const Address one = allocate(), other = allocate();
  shared_.exported(handle(1), one.value);
  shared_.exported(handle(2), other.value);

  shared_.end();

  EXPECT_EQ(files(), 0U);
}

TEST_F(Exporting, AnAddressThatIsUsedAgainEndsTheEntryOfWhatWasThere) {
  const Address memory = allocate();
  shared_.exported(handle(1), memory.value);
  replace(memory);

  shared_.exported(handle(2), memory.value);

  EXPECT_EQ(registry_.find(handle(1)), std::nullopt);
  ASSERT_TRUE(registry_.find(handle(2)));
  EXPECT_EQ(registry_.find(handle(2))->generation, id_of(memory));
}

TEST_F(Exporting, OneAllocationMayHaveSeveralHandles) {
  const Address memory = allocate();

  shared_.exported(handle(1), memory.value);
  shared_.exported(handle(2), memory.value);

  EXPECT_TRUE(registry_.find(handle(1)) && registry_.find(handle(2)));
}

// At other addresses every time, so that nothing says that they are gone.
TEST_F(Exporting, UnseenFreesLeaveFewFiles) {
  const std::vector<Address> all = allocate_many(500);

  for (std::size_t i = 0; i < all.size(); ++i) {
    shared_.exported(handle(i), all[i].value);
    free(all[i]);
  }

  EXPECT_LE(files(), SharedMemory::kFewExports);
}

// Their addresses belong to other memory by now, which is nobody else's business.
TEST_F(Exporting, UnseenFreesOfAddressesThatAreUsedAgainLeaveFewFilesToo) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Address memory = allocate();
    shared_.exported(handle(i), memory.value);
    replace(memory);
  }

  EXPECT_LE(files(), SharedMemory::kFewExports);
}

TEST_F(Exporting, WhatIsThereStaysHoweverMuchThereIs) {
  constexpr std::size_t kMany = 10 * SharedMemory::kFewExports;
  const std::vector<Address> all = allocate_many(2 * kMany);

  for (std::size_t i = 0; i < all.size(); ++i) {
    shared_.exported(handle(i), all[i].value);
    if (i % 2 == 1) free(all[i]);
  }

  for (std::size_t i = 0; i < all.size(); i += 2) EXPECT_TRUE(registry_.find(handle(i))) << i;
}

}  // namespace
}  // namespace polypath::test::exporting_test
