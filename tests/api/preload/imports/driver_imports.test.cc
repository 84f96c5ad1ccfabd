// Memory of other processes in copies and graphs of the driver, with the process's own table.

#include <gmock/gmock.h>

#include "api/preload/imports/driver_of_imports.h"
#include "support/layers.h"

namespace polypath::test::driver_imports_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(DriverOfImports, SaysWhoseMemoryItIs) {
  driver_.imports().remove(base_);
  driver_.imports().add(memory(1, base_, 3), exported);

  const auto found = driver_.find_memory(base_ + 1_MiB);

  ASSERT_TRUE(found);
  EXPECT_EQ(found->place, gpu(3));
  EXPECT_EQ(found->base, base_);
  EXPECT_EQ(found->size, kSize);
  EXPECT_EQ(found->kind, MemoryKind::device);
}

TEST_F(DriverOfImports, SaysNothingWhereItDoesNotKnow) {
  driver_.imports().remove(base_);
  for (const int owner : {cuda::kOwnerUnknown, cuda::kOwnerHidden, 17}) {
    driver_.imports().add(memory(1, base_, owner), exported);
    EXPECT_EQ(driver_.find_memory(base_), std::nullopt) << owner;
    driver_.imports().remove(base_);
  }
}

TEST_F(DriverOfImports, CopiesByTheMappingOfTheStreamsContext) {
  const CopyRequest copy = to(2);
  const StreamHandle stream = driver_.create_stream(gpu(2));

  driver_.copy(copy, stream);

  const Address mapped = driver_.imports().reach(base_, context_of(2)).address;
  EXPECT_TRUE(unmapping_waits_for(stream));
  EXPECT_THAT(journal(), ElementsAre(opened(mapped, 2), closed(mapped, 2)));
  EXPECT_TRUE(same_bytes(arrived(copy, stream), part(contents(1))));
}

TEST_F(DriverOfImports, LeavesTheProgramsAddressOnItsOwnStreams) {
  const CopyRequest by_program = to(2), where_it_was_mapped = to(1);
  const StreamHandle programs = programs_stream(2), own = driver_.create_stream(gpu(1));

  driver_.copy(by_program, programs);
  driver_.copy(where_it_was_mapped, own);

  EXPECT_TRUE(same_bytes(arrived(by_program, programs), at_the_programs_address()));
  EXPECT_TRUE(same_bytes(arrived(where_it_was_mapped, own), at_the_programs_address()));
  EXPECT_THAT(journal(), IsEmpty());
}

// Without that the driver takes the detour by the host, at a seventh of the rate.
TEST_F(DriverOfImports, GraphsOpenTheOtherEndToTheContextThatCopies) {
  driver_.destroy_graph(driver_.instantiate({{to(1), {}}}));

  EXPECT_TRUE(is_open(0, 1));
}

// The first hop of a path through gpu2, by a stream of the memory's owner.
TEST_F(DriverOfImports, StagingMemoryIsOpenToTheContextThatCopies) {
  driver_.copy(to(2), driver_.create_stream(gpu(0)));

  EXPECT_TRUE(is_open(0, 2));
}

// Where the program maps memory it has both ends within reach, and no context is made for nothing.
TEST_F(DriverOfImports, OnTheProgramsOwnStreamsNothingIsOpened) {
  driver_.copy(to(1), programs_stream(1));

  for (const int other : {0, 2, 3}) EXPECT_FALSE(has_context(other)) << other;
}

}  // namespace
}  // namespace polypath::test::driver_imports_test
