// Memory that this process maps: what is said of it is believed only if nothing about it has
// changed meanwhile.

#include <gmock/gmock.h>

#include "api/preload/imports/shared_memory.h"
#include "standin/driver_api.h"
#include "support/errors.h"

namespace polypath::test::importing_test {
namespace {

class Importing : public SharedMemoryTest {
 protected:
  Importing() {
    EXPECT_EQ(cu("cuCtxPushCurrent_v2", context_of(1)), 0);
    (void)journal();
  }
  ~Importing() override {
    cuda::ContextPointer context = nullptr;
    EXPECT_EQ(cu("cuCtxPopCurrent_v2", &context), 0);
  }

  // As another process says it; its memory is gpu2's.
  static preload::ExportedMemory exported(std::uint64_t generation) {
    return {handle(1), this_process().value(), uuid_of(2), 0x5000000, kShared, generation};
  }
  [[nodiscard]] int owner() const { return imports_.find(mapped_)->owner; }

  Exporter exporter_{2};
  Address mapped_ = map(1, exporter_.memory(kShared, 1));  ///< where the program sees it
};

TEST_F(Importing, TheOwnerIsWhoTheExporterSays) {
  registry_.publish(exported(1));
  const auto before = shared_.look_up(handle(1));

  shared_.opened(handle(1), before, mapped_.value);

  EXPECT_EQ(owner(), 2);
}

// The exporter has freed the memory and exported other memory under the same handle: nobody knows
// which of them has been mapped.
TEST_F(Importing, AnExportThatChangesMeanwhileIsNotBelieved) {
  registry_.publish(exported(1));
  const auto before = shared_.look_up(handle(1));
  registry_.publish(exported(2));

  shared_.opened(handle(1), before, mapped_.value);

  EXPECT_EQ(owner(), cuda::kOwnerUnknown);
}

TEST_F(Importing, AnExportThatEndsMeanwhileIsNotBelieved) {
  registry_.publish(exported(1));
  const auto before = shared_.look_up(handle(1));
  registry_.withdraw(handle(1));

  shared_.opened(handle(1), before, mapped_.value);

  EXPECT_EQ(owner(), cuda::kOwnerUnknown);
}

TEST_F(Importing, AnExportThatBeginsMeanwhileIsNotBelieved) {
  const auto before = shared_.look_up(handle(1));
  registry_.publish(exported(1));

  shared_.opened(handle(1), before, mapped_.value);

  EXPECT_EQ(owner(), cuda::kOwnerUnknown);
}

TEST_F(Importing, AnExportThatChangesLaterIsNotMappedAgain) {
  registry_.publish(exported(1));
  shared_.opened(handle(1), shared_.look_up(handle(1)), mapped_.value);
  registry_.publish(exported(2));

  expect_error(
      ErrorCode::unsupported, [&] { (void)imports_.reach(mapped_, context_of(0)); }, "freed it");
  EXPECT_THAT(journal(), testing::IsEmpty());
}

TEST_F(Importing, WhatIsClosedIsForgotten) {
  registry_.publish(exported(1));
  shared_.opened(handle(1), shared_.look_up(handle(1)), mapped_.value);

  shared_.closing(mapped_.value);

  EXPECT_TRUE(imports_.empty());
}

}  // namespace
}  // namespace polypath::test::importing_test
