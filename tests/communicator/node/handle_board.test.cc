// What ranks let each other know on memory that they share (communicator/node/handle_board.h).

#include "communicator/node/handle_board.h"

#include <gtest/gtest.h>

#include "support/layers.h"

namespace polypath::test::notices_test {
namespace {

class Shared {
 public:
  explicit Shared(int ranks)
      : ranks_(ranks), memory_(HandleBoard::bytes_for(ranks) / sizeof(std::uint64_t)) {}
  [[nodiscard]] HandleBoard of(int rank) { return {memory_.data(), ranks_, rank}; }

 private:
  int ranks_;
  std::vector<std::uint64_t> memory_;
};

TEST(HandleBoard, AreReadOnceAndAnswered) {
  Shared shared(3);
  HandleBoard own = shared.of(0), second = shared.of(1), third = shared.of(2);

  const int number = *own.publish("here");
  const auto news = second.poll();

  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].bytes, "here");
  EXPECT_EQ(news[0].from, 0);
  EXPECT_TRUE(second.poll().empty());
  second.acknowledge(news[0], true);
  EXPECT_FALSE(own.is_acked_by_all(number));
  third.acknowledge(third.poll().at(0), true);
  EXPECT_TRUE(own.is_acked_by_all(number));
  EXPECT_FALSE(own.is_refused(number));
}

TEST(HandleBoard, AreRefusedByOneForAll) {
  Shared shared(2);
  HandleBoard own = shared.of(0), other = shared.of(1);

  const int number = *own.publish("here");
  other.acknowledge(other.poll().at(0), false);

  EXPECT_TRUE(own.is_refused(number));
  EXPECT_FALSE(own.is_acked_by_all(number));
}

TEST(HandleBoard, AreTakenBackAndTheirNumbersUsedAgainOnceThatIsKnown) {
  Shared shared(2);
  HandleBoard own = shared.of(0), other = shared.of(1);
  const int number = *own.publish("old");
  other.acknowledge(other.poll().at(0), true);

  own.take_back(number);

  EXPECT_NE(own.publish("another"), number);
  for (const auto& news : other.poll()) other.acknowledge(news, true);
  EXPECT_EQ(own.publish("new"), number);
  EXPECT_FALSE(own.is_acked_by_all(number));
  const auto news = other.poll();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].bytes, "new");
}

// Taken back before any rank has read it: it is gone, and nothing else.
TEST(HandleBoard, ThatWereTakenBackUnreadHaveNoBytes) {
  Shared shared(2);
  HandleBoard own = shared.of(0), other = shared.of(1);

  own.take_back(*own.publish("here"));
  const auto news = other.poll();

  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].bytes, "");
}

TEST(HandleBoard, AreSoManyAndSoLong) {
  Shared shared(2);
  HandleBoard own = shared.of(0);

  EXPECT_FALSE(own.publish(Blob(HandleBoard::kMostBytes + 1, 'x')));
  for (int i = 0; i < HandleBoard::kMost; ++i)
    EXPECT_TRUE(own.publish(Blob(HandleBoard::kMostBytes, 'x')));
  EXPECT_FALSE(own.publish("one more"));
}

}  // namespace
}  // namespace polypath::test::notices_test
