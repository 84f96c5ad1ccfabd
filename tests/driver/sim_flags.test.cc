// Flags of the simulated driver: when waits end, what they order, and what is found wrong.

#include "driver/races.h"
#include "support/errors.h"

namespace polypath::test::sim_flags_test {
namespace {

using testing::ElementsAre, testing::HasSubstr, testing::IsEmpty;

class SimFlags : public Races {
 protected:
  void write_flag(std::uint32_t value, StreamHandle stream) {
    driver_.write_value(stream, flag_, gpu(1), value);
  }
  void await_flag(std::uint32_t value, StreamHandle stream) {
    driver_.wait_value(stream, flag_, gpu(1), value);
  }

  Address flag_ = memory(gpu(1), 4);
};

TEST_F(SimFlags, AFlagOrdersWhateverIsCalledFirst) {
  const Contents sent = pattern(8000, 1);
  write(source_, sent);

  await_flag(1, reader_);
  second();
  first();
  write_flag(1, writer_);
  driver_.synchronize(reader_);

  EXPECT_TRUE(same_bytes(read(destination_, 8000), sent));
  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(SimFlags, AFlagThatIsWrittenTooEarlyDoesNotOrder) {
  await_flag(1, reader_);
  second();
  write_flag(1, writer_);
  first();
  driver_.synchronize(reader_);
  driver_.synchronize(writer_);

  EXPECT_EQ(driver_.violations().size(), 1U);
}

// What another stream does after an event behind the wait is kept back as well.
TEST_F(SimFlags, OrderGoesOnThroughEvents) {
  await_flag(1, idle_);
  driver_.record(written_, idle_);
  driver_.wait(reader_, written_);
  second();
  first();
  write_flag(1, writer_);
  driver_.synchronize(reader_);

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

// The write is the second call of its kind, after a record; the other GPU sees it the latency of
// flags later.
TEST_F(SimFlags, AWaitEndsWhenTheWriteIsSeen) {
  const Machine& machine = driver_.machine();
  const EventHandle end = driver_.create_timing_event(gpu(1));

  await_flag(1, reader_);
  driver_.record(end, reader_);
  write_flag(1, writer_);
  const Seconds issued = driver_.now();
  driver_.synchronize(reader_);

  EXPECT_EQ(issued, machine.driver.flag_call * 2 + machine.costs.event_record);
  EXPECT_EQ(driver_.finished_at(end), issued + machine.driver.flag_latency);
}

TEST_F(SimFlags, AFlagThatNobodyWritesIsAnErrorAndNoHang) {
  await_flag(1, reader_);

  expect_error(
      ErrorCode::driver, [&] { driver_.synchronize(reader_); }, "never finishes",
      "waits for a flag that is never written");
  write_flag(1, writer_);
  driver_.synchronize(reader_);
}

TEST_F(SimFlags, TwoWritesWithoutAnOrderAreARace) {
  write_flag(1, writer_);
  write_flag(1, idle_);
  driver_.synchronize(writer_);
  driver_.synchronize(idle_);

  EXPECT_THAT(driver_.violations(), ElementsAre(HasSubstr("two writes of one flag")));
}

// The writer does not know that the first value has been seen.
TEST_F(SimFlags, AValueThatMightBeMissedIsARace) {
  write_flag(1, writer_);
  await_flag(1, reader_);
  let_time_pass();
  write_flag(2, writer_);
  driver_.synchronize(reader_);
  driver_.synchronize(writer_);

  EXPECT_THAT(driver_.violations(), ElementsAre(HasSubstr("while somebody waits for what it had")));
}

TEST_F(SimFlags, AFlagThatIsClearedAfterItWasSeenIsNoRace) {
  write_flag(1, writer_);
  await_flag(1, reader_);
  write_flag(0, reader_);
  driver_.synchronize(reader_);

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(SimFlags, ImportsThatAreKeptAreLeaks) {
  const Address imported = driver_.import_memory(driver_.export_memory(flag_), gpu(0));

  EXPECT_THAT(driver_.leaks(), testing::Contains("1 imports"));
  driver_.release_import(imported);
  EXPECT_THAT(driver_.leaks(), testing::Not(testing::Contains("1 imports")));
}

}  // namespace
}  // namespace polypath::test::sim_flags_test
