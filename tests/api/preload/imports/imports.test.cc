// Memory of other processes: where it is, through which mapping each context reaches it, and that
// no mapping outlives what the program knows of.

#include "driver/cuda/imports.h"

#include <gmock/gmock.h>

#include "api/preload/imports/imported_memory.h"
#include "driver/cuda/handles.h"
#include "standin/driver_api.h"
#include "support/errors.h"

namespace polypath::test::imports_test {
namespace {

using cuda::ImportedMemory;
using cuda::Imports;
using cuda::kOwnerUnknown;
using cuda::Reached;
using testing::ElementsAre;
using testing::IsEmpty;

class ImportedBySomebody : public ImportedMemoryTest {
 protected:
  /// Copies all of it to another GPU.
  void use_in(cuda::StreamPointer stream, const Reached& source) {
    const Address target = allocate(1, kSize);
    const cuda::Current current(context_of(0));
    const cuda::DevicePointer to = target.value, from = source.address.value;
    EXPECT_EQ(cu("cuMemcpyDtoDAsync_v2", to, from, std::size_t{kSize.value}, stream), 0);
    source.mapping->note_use({cuda::pack(0, stream)});
  }

  Imports imports_;
};

TEST_F(ImportedBySomebody, IsFoundFromItsFirstByteToItsLast) {
  imports_.add(memory(), exported);

  EXPECT_EQ(imports_.find({base_.value - 1}), std::nullopt);
  ASSERT_TRUE(imports_.find(base_));
  EXPECT_EQ(imports_.find(base_)->owner, 0);
  EXPECT_TRUE(imports_.find(base_ + Bytes{kSize.value - 1}));
  EXPECT_EQ(imports_.find(base_ + kSize), std::nullopt);
}

TEST_F(ImportedBySomebody, KeepsItsAddressWhereItWasMapped) {
  imports_.add(memory(), exported);

  EXPECT_EQ(imports_.reach(base_ + 5_B, context_of(1)).address, base_ + 5_B);
  EXPECT_EQ(imports_.reach({0x5000}, context_of(0)).address, Address{0x5000});
  EXPECT_THAT(journal(), IsEmpty());
}

TEST_F(ImportedBySomebody, GetsOneMappingPerContext) {
  imports_.add(memory(), exported);

  const Reached first = imports_.reach(base_ + 5_B, context_of(0));
  const Reached again = imports_.reach(base_ + 9_B, context_of(0));
  const Reached third = imports_.reach(base_, context_of(2));

  EXPECT_EQ(first.address, first.mapping->base() + 5_B);
  EXPECT_EQ(again.address, first.mapping->base() + 9_B);
  EXPECT_TRUE(same_bytes(read(first.mapping->base(), kSize), contents(1)));
  EXPECT_TRUE(same_bytes(read(third.address, kSize), contents(1)));
  EXPECT_THAT(journal(), ElementsAre(opened(first.mapping->base(), 0), opened(third.address, 2)));
}

TEST_F(ImportedBySomebody, IsUnmappedAfterItsLastUse) {
  imports_.add(memory(), exported);
  Reached reached = imports_.reach(base_, context_of(0));
  const cuda::StreamPointer one = stream(0), other = stream(0);
  use_in(one, reached);
  use_in(one, reached);
  use_in(other, reached);
  const Address mapped = reached.address;
  reached = {};
  ASSERT_FALSE(is_idle(one) || is_idle(other)) << "the copies take longer than a few calls";

  imports_.remove(base_);

  EXPECT_TRUE(is_idle(one) && is_idle(other));
  EXPECT_THAT(journal(), ElementsAre(opened(mapped, 0), closed(mapped, 0)));
  EXPECT_EQ(imports_.find(base_), std::nullopt);
  EXPECT_TRUE(imports_.empty());
}

TEST_F(ImportedBySomebody, StaysAsLongAsItIsOpen) {
  const ImportedMemory twice = memory();
  imports_.add(twice, exported);
  imports_.add(twice, exported);
  const Address mapped = imports_.reach(base_, context_of(0)).address;
  (void)journal();

  imports_.remove(base_);
  EXPECT_TRUE(imports_.find(base_));
  EXPECT_THAT(journal(), IsEmpty());

  imports_.remove(base_);
  EXPECT_FALSE(imports_.find(base_));
  EXPECT_THAT(journal(), ElementsAre(closed(mapped, 0)));
}

// The program unmaps one allocation and maps another one at the same address.
TEST_F(ImportedBySomebody, IsMappedAnewWhenItIsOtherMemory) {
  imports_.add(memory(1), exported);
  const Address before = imports_.reach(base_, context_of(0)).address;
  const std::uint64_t changes = imports_.changes();

  imports_.remove(base_);
  imports_.add(memory(2), exported);
  const Address after = imports_.reach(base_, context_of(0)).address;

  EXPECT_TRUE(same_bytes(read(after, kSize), contents(2)));
  EXPECT_GT(imports_.changes(), changes);
  EXPECT_THAT(journal(), ElementsAre(opened(before, 0), closed(before, 0), opened(after, 0)));
}

// Nobody has said that the first one was unmapped: one of them is not what it seems.
TEST_F(ImportedBySomebody, IsNobodysWhenFactsContradict) {
  imports_.add(memory(1), exported);
  imports_.add(memory(2), exported);

  EXPECT_EQ(imports_.find(base_)->owner, kOwnerUnknown);
  expect_error(
      ErrorCode::unsupported, [&] { (void)imports_.reach(base_, context_of(0)); }, "freed it");
  EXPECT_THAT(journal(), IsEmpty());
}

TEST_F(ImportedBySomebody, IsNotMappedAgainWhenItsExporterHasFreedIt) {
  imports_.add(memory(), [] { return false; });

  expect_error(
      ErrorCode::unsupported, [&] { (void)imports_.reach(base_, context_of(0)); }, "freed it");

  EXPECT_FALSE(imports_.mappable(base_));
  EXPECT_THAT(journal(), IsEmpty());
}

// Freed while it was being mapped: what was mapped may be other memory already.
TEST_F(ImportedBySomebody, IsNotUsedWhenItsExporterFreesItMeanwhile) {
  int asked = 0;
  imports_.add(memory(), [&] { return ++asked == 1; });

  expect_error(
      ErrorCode::unsupported, [&] { (void)imports_.reach(base_, context_of(0)); }, "freed it");

  EXPECT_FALSE(imports_.mappable(base_));
  EXPECT_THAT(journal(), ElementsAre(testing::StartsWith("opened"), testing::StartsWith("closed")));
}

TEST_F(ImportedBySomebody, IsTriedOnceWhereItCannotBeMapped) {
  ImportedMemory refused = memory();
  refused.handle = exporter_.freed_memory(kSize);
  imports_.add(refused, exported);
  EXPECT_THROW((void)imports_.reach(base_, context_of(0)), Error);

  EXPECT_THROW((void)imports_.reach(base_, context_of(0)), Error);

  EXPECT_FALSE(imports_.mappable(base_));
  EXPECT_THAT(journal(), ElementsAre("refused in gpu0"));
}

TEST_F(ImportedBySomebody, IsLeftAloneWhenContextsAreGone) {
  imports_.add(memory(), exported);
  (void)imports_.reach(base_, context_of(0));
  (void)journal();

  imports_.abandon();
  EXPECT_EQ(imports_.find(base_)->owner, kOwnerUnknown);
  imports_.remove(base_);

  EXPECT_THAT(journal(), IsEmpty());
}

}  // namespace
}  // namespace polypath::test::imports_test
