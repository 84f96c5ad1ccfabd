// What the race detector may forget and what it must keep: accesses that a later one covers.

#include <gmock/gmock.h>

#include <array>

#include "driver/hand_driver.h"
#include "support/layers.h"

namespace polypath::test::sim_races_kept_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RacesKept : public HandDriver {
 protected:
  // What the stream of GPU `later` is given next comes after everything in that of `earlier`.
  void order(int earlier, int later) {
    const EventHandle event = driver_.create_event(gpu(earlier));
    driver_.record(event, stream(earlier));
    driver_.wait(stream(later), event);
  }
  [[nodiscard]] StreamHandle stream(int of) const {
    return std::array{first_, second_, third_}.at(static_cast<std::size_t>(of));
  }
  void write_middle(StreamHandle stream) { copy(middle_, source_, 8000, stream); }
  void read_middle(Address to, StreamHandle stream) { copy(to, middle_, 8000, stream); }

  StreamHandle first_ = driver_.create_stream(gpu(0));
  StreamHandle second_ = driver_.create_stream(gpu(1));
  StreamHandle third_ = driver_.create_stream(gpu(2));
  Address source_ = memory(gpu(0), 8000);
  Address middle_ = memory(gpu(1), 8000);
  Address destination_ = memory(gpu(2), 8000), other_ = memory(gpu(2), 8000);
};

// The second reader is no race with the first one, but with what both of them read.
TEST_F(RacesKept, AWriteIsNotForgottenForAReadAfterIt) {
  write_middle(first_);
  order(0, 1);
  read_middle(destination_, second_);

  read_middle(other_, third_);

  EXPECT_THAT(driver_.violations(),
              ElementsAre(AllOf(HasSubstr("8000 bytes from gpu0 to gpu1"), HasSubstr("(writes)"),
                                HasSubstr("8000 bytes from gpu1 to gpu2"), HasSubstr("(reads)"))));
}

TEST_F(RacesKept, NorForAReadOfAPartOfIt) {
  write_middle(first_);
  order(0, 1);
  copy(destination_, middle_, 4000, second_);

  copy(other_, middle_ + 4000_B, 4000, third_);

  EXPECT_EQ(driver_.violations().size(), 1U);
}

// Two readers beside each other: a writer that comes after only one of them is a race.
TEST_F(RacesKept, AReadIsNotForgottenForOneBesideIt) {
  read_middle(destination_, first_);
  read_middle(other_, second_);
  order(1, 2);

  copy(middle_, source_, 8000, third_);

  EXPECT_EQ(driver_.violations().size(), 1U);
}

TEST_F(RacesKept, AWriteIsNotForgottenForAWriteOfAPartOfIt) {
  write_middle(first_);
  order(0, 1);
  copy(middle_, source_, 4000, second_);

  copy(other_, middle_ + 4000_B, 4000, third_);

  EXPECT_EQ(driver_.violations().size(), 1U);
}

// Work after the reader comes after the writer as well.
TEST_F(RacesKept, AChainThroughAReadOrders) {
  write_middle(first_);
  order(0, 1);
  read_middle(destination_, second_);
  order(1, 2);

  read_middle(other_, third_);

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

}  // namespace
}  // namespace polypath::test::sim_races_kept_test
