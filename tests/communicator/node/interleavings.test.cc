// What goes through all orders (support/interleavings.h) goes through all of them, and finds what
// goes wrong in one only.

#include "support/interleavings.h"

#include <gmock/gmock.h>

#include <array>
#include <memory>
#include <set>

#include "support/sanitizers.h"

namespace polypath::test::interleavings_test {
namespace {

using testing::HasSubstr;

using Words = std::array<SteppedWord<std::uint64_t>, 4>;

class AllOrders : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer does not follow from stack to stack";
  }
};

/// `work(words, end)` by each of so many ends.
template <class Work, class Wrong>
Interleavings orders_of(std::size_t ends, Work work, Wrong wrong) {
  return go_through_all_orders([&] {
    const auto words = std::make_shared<Words>();
    Interleaved run{.ends = {}, .wrong = [=] { return wrong(*words); }, .memory = words.get()};
    for (std::size_t end = 0; end < ends; ++end) run.ends.emplace_back([=] { work(*words, end); });
    return run;
  });
}

std::string nothing(const Words& /*words*/) { return {}; }

TEST_F(AllOrders, OfIncrementsThatAreNotAtomicLoseOne) {
  const auto add = [](Words& words, std::size_t) { words[0].store(words[0].load() + 1); };
  const auto lost = [](const Words& words) {
    return words[0].load() == 2 ? std::string() : "one is lost";
  };

  EXPECT_THAT(orders_of(2, add, lost).wrong, HasSubstr("one is lost"));
}

TEST_F(AllOrders, OfIncrementsThatAreAtomicLoseNone) {
  const auto add = [](Words& words, std::size_t) { words[0].fetch_add(1); };
  const auto lost = [](const Words& words) {
    return words[0].load() == 3 ? std::string() : "one is lost";
  };

  EXPECT_EQ(orders_of(3, add, lost).wrong, "");
}

// Two ends of two steps each: six orders. Each end notes its steps in a word of all of them.
TEST_F(AllOrders, AreAsManyAsThereAre) {
  std::set<std::uint64_t> orders;
  const auto note = [](Words& words, std::size_t end) {
    for (int i = 0; i < 2; ++i) {
      step();
      words[0].fetch_add(0);
      words[0].store(words[0].load() * 10 + end + 1);
    }
  };
  const auto keep = [&](const Words& words) {
    orders.insert(words[0].load());
    return std::string();
  };

  (void)orders_of(2, note, keep);

  EXPECT_THAT(orders, testing::IsSupersetOf({1122U, 1212U, 1221U, 2112U, 2121U, 2211U}));
}

// States, not orders, are what grows: ten independent steps of each of two ends have 184756 orders.
TEST_F(AllOrders, AreGoneThroughByState) {
  const auto work = [](Words& words, std::size_t end) {
    for (std::uint64_t i = 1; i <= 10; ++i) words[end].store(i);
  };

  EXPECT_LE(orders_of(2, work, nothing).states, 12U * 12U);
}

// Each asks for what the other one has.
TEST_F(AllOrders, FindWhatWaitsForEver) {
  const auto take = [](Words& words, std::size_t end) {
    for (const std::size_t lock : {end, 1 - end}) {
      std::uint64_t free = 0;
      await([&] { return words[lock].load() == 0; });
      (void)words[lock].compare_exchange_strong(free, 1);
    }
    words[0].store(0), words[1].store(0);
  };

  EXPECT_THAT(orders_of(2, take, nothing).wrong, HasSubstr("never goes on"));
}

TEST_F(AllOrders, LetWhoLooksAgainAndAgainSeeEveryChange) {
  const auto pass_on = [](Words& words, std::size_t end) {
    while (words[0].load() % 2 != end) let_others_go_on();
    words[0].store(words[0].load() + 1);
    while (words[0].load() < 2) let_others_go_on();
  };

  EXPECT_EQ(orders_of(2, pass_on, nothing).wrong, "");
}

TEST_F(AllOrders, HaveEveryAnswerOfAChoice) {
  std::set<std::uint64_t> answers;
  const auto ask = [](Words& words, std::size_t) { words[0].store(choose(3)); };
  const auto keep = [&](const Words& words) {
    answers.insert(words[0].load());
    return std::string();
  };

  (void)orders_of(1, ask, keep);

  EXPECT_EQ(answers, (std::set<std::uint64_t>{0, 1, 2}));
}

TEST_F(AllOrders, SayWhatAnEndHasThrown) {
  const auto fail = [](Words& words, std::size_t) {
    if (words[0].fetch_add(1) == 1) throw std::runtime_error("the second one fails");
  };

  EXPECT_THAT(orders_of(2, fail, nothing).wrong, HasSubstr("the second one fails"));
}

}  // namespace
}  // namespace polypath::test::interleavings_test
