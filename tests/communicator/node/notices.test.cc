// What ranks let each other know on memory that they share (communicator/node/notices.h).

#include "communicator/node/notices.h"

#include <gtest/gtest.h>

namespace polypath::test::notices_test {
namespace {

class Shared {
 public:
  explicit Shared(int ranks)
      : ranks_(ranks), memory_(Notices::bytes_for(ranks) / sizeof(std::uint64_t)) {}
  [[nodiscard]] Notices of(int rank) { return {memory_.data(), ranks_, rank}; }

 private:
  int ranks_;
  std::vector<std::uint64_t> memory_;
};

TEST(Notices, AreReadOnceAndAnswered) {
  Shared shared(3);
  Notices own = shared.of(0), second = shared.of(1), third = shared.of(2);

  const int number = *own.say("here");
  const auto news = second.news();

  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].bytes, "here");
  EXPECT_EQ(news[0].from, 0);
  EXPECT_TRUE(second.news().empty());
  second.answer(news[0], true);
  EXPECT_FALSE(own.is_taken_by_all(number));
  third.answer(third.news().at(0), true);
  EXPECT_TRUE(own.is_taken_by_all(number));
  EXPECT_FALSE(own.is_refused(number));
}

TEST(Notices, AreRefusedByOneForAll) {
  Shared shared(2);
  Notices own = shared.of(0), other = shared.of(1);

  const int number = *own.say("here");
  other.answer(other.news().at(0), false);

  EXPECT_TRUE(own.is_refused(number));
  EXPECT_FALSE(own.is_taken_by_all(number));
}

TEST(Notices, AreTakenBackAndTheirNumbersUsedAgainOnceThatIsKnown) {
  Shared shared(2);
  Notices own = shared.of(0), other = shared.of(1);
  const int number = *own.say("old");
  other.answer(other.news().at(0), true);

  own.take_back(number);

  EXPECT_NE(own.say("another"), number);
  for (const auto& news : other.news()) other.answer(news, true);
  EXPECT_EQ(own.say("new"), number);
  EXPECT_FALSE(own.is_taken_by_all(number));
  const auto news = other.news();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].bytes, "new");
}

// Taken back before anybody has read it: it is gone, and nothing else.
TEST(Notices, ThatWereTakenBackUnreadHaveNoBytes) {
  Shared shared(2);
  Notices own = shared.of(0), other = shared.of(1);

  own.take_back(*own.say("here"));
  const auto news = other.news();

  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].bytes, "");
}

TEST(Notices, AreSoManyAndSoLong) {
  Shared shared(2);
  Notices own = shared.of(0);

  EXPECT_FALSE(own.say(Blob(Notices::kMostBytes + 1, 'x')));
  for (int i = 0; i < Notices::kMost; ++i) EXPECT_TRUE(own.say(Blob(Notices::kMostBytes, 'x')));
  EXPECT_FALSE(own.say("one more"));
}

}  // namespace
}  // namespace polypath::test::notices_test
