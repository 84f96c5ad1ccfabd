// The race report looks at bytes: two readers of the same ones are no race, nor are neighbours.

#include "driver/races.h"
#include "support/layers.h"

namespace polypath::test::sim_race_ranges_test {
namespace {

using testing::IsEmpty;

TEST_F(Races, TwoReadersAreNoRace) {
  copy(destination_, source_, 8000, writer_);
  copy(middle_, source_, 8000, reader_);

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(Races, TwoWritersAreARace) {
  first();
  copy(middle_, destination_, 8000, reader_);

  EXPECT_EQ(driver_.violations().size(), 1U);
}

TEST_F(Races, NeighboursAreNoRaceButOneSharedByteIs) {
  copy(middle_, source_, 4000, writer_);
  copy(destination_, middle_ + 4000_B, 4000, reader_);
  ASSERT_THAT(driver_.violations(), IsEmpty());

  copy(destination_, middle_ + 3999_B, 1, reader_);

  EXPECT_EQ(driver_.violations().size(), 1U);
}

TEST_F(Races, LargeRangesAreComparedWholly) {
  constexpr std::uint64_t kSize = 200 << 20;
  sim::SimDriver driver(hand_machine(), {false, true, false});
  const Address from = driver.allocate(gpu(0), {kSize});
  const Address to = driver.allocate(gpu(1), {kSize});
  const Address last = driver.allocate(gpu(2), {1});

  driver.copy({to, gpu(1), from, gpu(0), {kSize}, {}}, driver.create_stream(gpu(0)));
  driver.copy({last, gpu(2), to + Bytes{kSize - 1}, gpu(1), {1}, {}}, driver.create_stream(gpu(1)));

  EXPECT_EQ(driver.violations().size(), 1U);
}

}  // namespace
}  // namespace polypath::test::sim_race_ranges_test
