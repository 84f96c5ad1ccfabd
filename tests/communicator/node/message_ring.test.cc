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

TEST(MessageRing, HasSlotsForAThousandMessagesThatTheOtherEndHasNotComeTo) {
  Shared shared;
  MessageRing sender = shared.sender(), receiver = shared.receiver();
  int ahead = 0;

  for (; sender.has_slot(); ++ahead) (void)sender.decide({}, false);
  (void)receiver.decide({}, false);

  EXPECT_EQ(ahead, 1024);
  EXPECT_TRUE(sender.has_slot());
}

TEST(MessageRing, IsTheSameForBothEndsWheneverTheyCome) {
  constexpr int kMessages = 20'000;
  Shared shared;
  std::vector<MessageRing::Decision> sent, received;
  const auto pass = [&](MessageRing ring, std::vector<MessageRing::Decision>& decisions,
                        std::uint64_t seed) {
    Random random(seed);
    while (decisions.size() < kMessages) {
      if (!ring.has_slot()) std::this_thread::yield();
      else decisions.push_back(ring.decide({ring.next(), seed}, random.chance(30)));
    }
  };

  std::thread other([&] { pass(shared.sender(), sent, 1); });
  pass(shared.receiver(), received, 2);
  other.join();

  for (std::size_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(sent[i].is_made, received[i].is_made) << i;
    ASSERT_NE(sent[i].is_first, received[i].is_first) << i;
    const auto& second = sent[i].is_first ? received[i] : sent[i];
    ASSERT_EQ(second.other.memory, i + 1);
    ASSERT_EQ(second.other.bytes, sent[i].is_first ? 1U : 2U);
  }
}

}  // namespace
}  // namespace polypath::test::message_ring_test
