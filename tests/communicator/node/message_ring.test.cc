// How both ends of a message do it (communicator/node/message_ring.h). Ends are threads here.

#include "communicator/node/message_ring.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "support/random.h"

namespace polypath::test::message_ring_test {
namespace {

class Shared {
 public:
  MessageRing sender() { return {memory_.data(), MessageRing::End::sender}; }
  MessageRing receiver() { return {memory_.data(), MessageRing::End::receiver}; }

 private:
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes{};
  };
  std::vector<Line> memory_{MessageRing::bytes() / sizeof(Line) + 1};
};

TEST(MessageRing, IsDecidedByTheEndThatComesFirst) {
  Shared shared;
  MessageRing sender = shared.sender(), receiver = shared.receiver();

  const auto made = sender.decide({.memory = 7, .bytes = 8}, false);
  const auto found = receiver.decide({}, true);
  const auto left = receiver.decide({.memory = 9, .bytes = 8}, true);
  const auto found_left = sender.decide({.memory = 7, .bytes = 8}, false);

  EXPECT_TRUE(made.is_first && made.is_made);
  EXPECT_TRUE(!found.is_first && found.is_made);
  EXPECT_EQ(found.other.memory, 7U);
  EXPECT_EQ(found.number, 1U);
  EXPECT_TRUE(left.is_first && !left.is_made);
  EXPECT_TRUE(!found_left.is_first && !found_left.is_made);
}

TEST(MessageRing, TellsWhetherTheOtherEndHasCome) {
  Shared shared;
  MessageRing sender = shared.sender(), receiver = shared.receiver();

  (void)sender.decide({}, false);
  const bool before = sender.has_other_come(1);
  (void)receiver.decide({}, false);

  EXPECT_FALSE(before);
  EXPECT_TRUE(sender.has_other_come(1));
}

TEST(MessageRing, IsClosedForBothEndsByOne) {
  Shared shared;
  MessageRing sender = shared.sender(), receiver = shared.receiver();

  const bool before = sender.is_closed() || receiver.is_closed();
  receiver.close();

  EXPECT_FALSE(before);
  EXPECT_TRUE(sender.is_closed() && receiver.is_closed());
}

TEST(MessageRing, LeavesWhatIsAThousandMessagesAheadAtBothEnds) {
  constexpr int kMessages = 5000;
  Shared shared;
  MessageRing sender = shared.sender(), receiver = shared.receiver();
  int made = 0, found = 0;

  for (int i = 0; i < kMessages; ++i) made += sender.decide({}, false).is_made ? 1 : 0;
  for (int i = 0; i < kMessages; ++i) found += receiver.decide({}, false).is_made ? 1 : 0;
  const bool is_made_again = receiver.decide({}, false).is_made;

  EXPECT_EQ(made, 1024);
  EXPECT_EQ(found, 1024);
  EXPECT_TRUE(is_made_again && sender.decide({}, true).is_made);
}

TEST(MessageRing, IsTheSameForBothEndsWheneverTheyCome) {
  constexpr int kMessages = 20'000;
  Shared shared;
  std::vector<MessageRing::Decision> sent, received;
  const auto pass = [&](MessageRing ring, std::vector<MessageRing::Decision>& decisions,
                        std::uint64_t seed) {
    Random random(seed);
    while (decisions.size() < kMessages) {
      if (random.chance(5) && !ring.has_slot()) std::this_thread::yield();
      decisions.push_back(ring.decide({ring.next(), seed}, random.chance(30)));
    }
  };

  std::thread other([&] { pass(shared.sender(), sent, 1); });
  pass(shared.receiver(), received, 2);
  other.join();

  for (std::size_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(sent[i].is_made, received[i].is_made) << i;
    ASSERT_NE(sent[i].is_first, received[i].is_first) << i;
    const auto& second = sent[i].is_first ? received[i] : sent[i];
    if (!second.is_made) continue;
    ASSERT_EQ(second.other.memory, i + 1);
    ASSERT_EQ(second.other.bytes, sent[i].is_first ? 1U : 2U);
  }
}

}  // namespace
}  // namespace polypath::test::message_ring_test
