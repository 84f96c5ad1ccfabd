// The protocols of ranks that share memory, gone through in all orders of their steps, of small
// cases: a ring of one or two decisions, one or two notices of two words, a few calls.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <map>
#include <memory>

#include "communicator/node/agreement_ring_steps.h"
#include "communicator/node/call_log.h"
#include "communicator/node/handle_board_steps.h"
#include "communicator/node/message_ring_steps.h"
#include "communicator/together.h"
#include "support/effort.h"
#include "support/interleavings.h"
#include "support/sanitizers.h"

namespace polypath::test::all_orders_test {
namespace {

/// In the place of SharedWords: every access is a step, and patience may run out at any time.
template <std::size_t decisions, int notices, bool may_be_late = true>
struct SteppedWords {
  template <class Value>
  using Word = SteppedWord<Value>;

  class Stopwatch {
   public:
    Stopwatch() { begin_to_look(); }
    Seconds elapsed() const {
      late_ = late_ || has_waited_for_nobody() || (may_be_late && choose(2) == 1);
      return late_ ? Seconds{1} : Seconds{};
    }

   private:
    mutable bool late_ = false;
  };
  static void let_others_run() { let_others_go_on(); }

  static constexpr std::size_t kDecisions = decisions;
  static constexpr std::size_t kMessages = decisions;
  static constexpr int kNotices = notices;
  static constexpr std::size_t kNoticeBytes = 16;
};

constexpr Seconds kTimeout{0.5};

/// Zeros at first.
struct alignas(64) Line {
  std::array<std::byte, 64> bytes{};
};
using Memory = std::vector<Line>;

Memory zeros(std::size_t bytes) { return Memory(bytes / sizeof(Line) + 1); }

class AllOrdersOf : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer does not follow from stack to stack";
  }
};

using Words = AgreementRing::Words;
using Answers = std::vector<std::vector<std::optional<std::vector<Words>>>>;  // by rank and number

Words offered(std::size_t rank, std::size_t number) { return {number + 1, rank + 7}; }

// Of all ranks the same, and of no other decision.
std::string wrong_answer(const Answers& answers) {
  for (std::size_t number = 0; number < answers[0].size(); ++number)
    for (std::size_t rank = 0; rank < answers.size(); ++rank) {
      const auto& answer = answers[rank][number];
      if (answer != answers[0][number])
        return fmt::format("ranks 0 and {} differ in decision {}", rank, number + 1);
      for (std::size_t of = 0; answer && of < answers.size(); ++of)
        if ((*answer)[of] != offered(of, number))
          return fmt::format("decision {} has other words of rank {}", number + 1, of);
    }
  return {};
}

// All that a rank takes along from one decision to the next: which ones were accepted. That words
// are those of the decision is asked at once.
std::uint64_t hash_of(const std::vector<std::optional<std::vector<Words>>>& answers) {
  std::uint64_t hash = 1;
  for (const auto& answer : answers) hash = 2 * hash + (answer ? 1 : 0);
  return hash;
}

struct Deciding {
  Memory memory;
  Answers answers;
};

/// Each of the ranks decides so often; `refuses(rank, number)`.
template <std::size_t slots, bool may_be_late = true, class Refuses>
Interleavings decide(std::size_t ranks, std::size_t decisions, Refuses refuses) {
  using Stepped = AgreementRingOn<SteppedWords<slots, 1, may_be_late>>;
  return go_through_all_orders([=] {
    const int n = static_cast<int>(ranks);
    auto all = std::make_shared<Deciding>(Deciding{zeros(Stepped::bytes_for(n)), Answers(ranks)});
    Interleaved run{.ends = {},
                    .wrong = [all] { return wrong_answer(all->answers); },
                    .memory = all->memory.data()};
    for (std::size_t rank = 0; rank < ranks; ++rank)
      run.ends.emplace_back([=] {
        Stepped own(all->memory.data(), n, static_cast<int>(rank));
        for (std::size_t number = 0; number < decisions; ++number) {
          const bool no = refuses(rank, number);
          all->answers[rank].push_back(
              own.vote(no ? std::nullopt : std::optional(offered(rank, number)), kTimeout));
          forget_all_but(hash_of(all->answers[rank]));
        }
      });
    return run;
  });
}

bool never(std::size_t /*rank*/, std::size_t /*number*/) { return false; }

// The second decision takes the place of the first one, and so on.
TEST_F(AllOrdersOf, TwoRanksDecideAlikeWithOneSlot) {
  const Interleavings found = decide<1>(2, short_or_long(2U, 3U), never);

  EXPECT_EQ(found.wrong, "");
  EXPECT_GT(found.states, 5000U);
}

TEST_F(AllOrdersOf, TwoRanksDecideAlikeWithTwoSlots) {
  if (!is_long()) GTEST_SKIP() << "the long form has it: it has 54,000 states";
  EXPECT_EQ(decide<2>(2, 3, never).wrong, "");
}

TEST_F(AllOrdersOf, RanksOfWhichOneRefusesDecideAlike) {
  for (const std::size_t refused : {0U, 1U})
    EXPECT_EQ(decide<1>(2, 2,
                        [=](std::size_t rank, std::size_t number) {
                          return rank == 1 && number == refused;
                        })
                  .wrong,
              "");
}

// One of them refuses, and the others wait for it as long as any rank can go on.
TEST_F(AllOrdersOf, ThreeRanksDecideAlike) {
  const auto last_refuses = [](std::size_t rank, std::size_t) { return rank == 2; };

  const Interleavings found = decide<1, false>(3, 1, last_refuses);

  EXPECT_EQ(found.wrong, "");
  EXPECT_GT(found.states, 5000U);
}

/// Both ends of the messages of one direction.
template <std::size_t slots>
struct Messages {
  using Ring = MessageRingOn<SteppedWords<slots, 1>>;
  struct Seen {
    typename Ring::Decision decision;
    bool was_willing = false, had_slot = false;
  };

  Memory memory = zeros(Ring::bytes());
  std::array<std::vector<Seen>, 2> seen = {};  ///< by end

  static std::uint64_t memory_of(std::size_t end, std::uint64_t number) {
    return 10 * number + end;
  }
  // Each end may be unwilling at any message, and ahead as far as there are messages.
  void pass(std::size_t end, int count) {
    Ring ring(memory.data(), static_cast<typename Ring::End>(end));
    std::uint64_t hash = 1;
    for (int i = 0; i < count; ++i) {
      const bool willing = choose(2) == 1, had_slot = ring.has_slot();
      const std::uint64_t number = ring.next();
      seen[end].push_back(
          {ring.decide({memory_of(end, number), number}, !willing), willing, had_slot});
      hash = 8 * hash + (seen[end].back().decision.is_made ? 2 : 0) + (willing ? 1 : 0) +
             (had_slot ? 4 : 0);
      forget_all_but(2 * hash + (seen[end].back().decision.is_first ? 1 : 0));
    }
  }
  [[nodiscard]] std::string wrong() const {
    for (std::size_t i = 0; i < seen[0].size(); ++i) {
      const std::size_t first = seen[0][i].decision.is_first ? 0 : 1;
      const Seen &one = seen[first][i], &other = seen[1 - first][i];
      if (!one.decision.is_first || other.decision.is_first)
        return fmt::format("message {} has not one first end", i + 1);
      if (one.decision.is_made != other.decision.is_made)
        return fmt::format("message {} is made by one end", i + 1);
      const bool is_wanted = one.decision.is_made == one.was_willing;
      if (one.decision.is_made ? !one.was_willing : one.had_slot && !is_wanted)
        return fmt::format("message {} is not what the first end wants", i + 1);
      if (one.decision.is_made && other.decision.other.memory != memory_of(first, i + 1))
        return fmt::format("message {} has another offer", i + 1);
    }
    return {};
  }
};

template <std::size_t slots>
Interleavings pass_messages(int count) {
  return go_through_all_orders([=] {
    auto both = std::make_shared<Messages<slots>>();
    return Interleaved{.ends = {[=] { both->pass(0, count); }, [=] { both->pass(1, count); }},
                       .wrong = [both] { return both->wrong(); },
                       .memory = both->memory.data()};
  });
}

TEST_F(AllOrdersOf, BothEndsOfAMessageDecideAlike) {
  EXPECT_EQ(pass_messages<2>(short_or_long(2, 3)).wrong, "");
  const Interleavings with_one_slot = pass_messages<1>(short_or_long(2, 3));
  EXPECT_EQ(with_one_slot.wrong, "");
  EXPECT_GT(with_one_slot.states, 100U);
}

std::string text(int number) { return std::string(16, static_cast<char>('a' + number)); }

/// A writer, and a reader that answers.
template <int notices>
struct TwoEnds {
  using Stepped = HandleBoardOn<SteppedWords<1, notices>>;

  Memory memory = zeros(Stepped::bytes_for(2));
  Stepped writer{memory.data(), 2, 0}, reader{memory.data(), 2, 1};
  std::map<int, std::string> last = {};  ///< what the writer has said, by number
  std::map<int, std::string> seen = {};  ///< what the reader has read
  std::string problem = {};

  void publish(int which) {
    const auto number = writer.publish(text(which));
    if (!number) return;
    last[*number] = text(which);
  }
  void take_back(int number) {
    if (!last.contains(number) || last[number].empty()) return;
    writer.take_back(number);
    last[number].clear();
  }
  // Whole, or nothing.
  void read(bool is_taken) {
    for (const auto& news : reader.poll()) {
      const bool is_whole = news.bytes.empty() || news.bytes == text(news.bytes[0] - 'a');
      if (!is_whole) problem = "read '" + news.bytes + "'";
      seen[news.number] = news.bytes;
      reader.acknowledge(news, is_taken);
    }
  }
  // Once both have done what they do, one more look shows all that has been said.
  std::string wrong() {
    read(true);
    if (!problem.empty()) return problem;
    for (const auto& [number, bytes] : last) {
      if (seen[number] != bytes) return fmt::format("notice {} is not seen", number);
      if (!writer.is_acked_by_all(number)) return fmt::format("answer {} is not seen", number);
    }
    return {};
  }
};

template <int notices, class Write>
Interleavings notice(Write write, int reads) {
  return go_through_all_orders([=] {
    auto ends = std::make_shared<TwoEnds<notices>>();
    return Interleaved{.ends = {[=] { write(*ends); },
                                [=] {
                                  for (int i = 0; i < reads; ++i) ends->read(true);
                                }},
                       .wrong = [=] { return ends->wrong(); },
                       .memory = ends->memory.data()};
  });
}

// A number is used again once its reader has answered, by another text.
TEST_F(AllOrdersOf, NoticesAreReadWholeAndNoneIsMissed) {
  const auto found = notice<1>(
      [](auto& ends) {
        ends.publish(0);
        ends.take_back(0);
        ends.publish(1);
      },
      2);

  EXPECT_EQ(found.wrong, "");
  EXPECT_GT(found.states, 100U);
}

TEST_F(AllOrdersOf, NoticesThatAreSaidWhileOthersAreReadAreSeen) {
  EXPECT_EQ(notice<2>(
                [](auto& ends) {
                  ends.publish(0);
                  ends.publish(1);
                  ends.take_back(0);
                },
                2)
                .wrong,
            "");
}

/// Ranks of one node that make calls, and what they have found.
struct Calling {
  explicit Calling(int ranks)
      : block(NamedMemory::alone(ControlBlock::bytes_for(ranks)), ranks), numbers(ranks) {
    for (int rank = 0; rank < ranks; ++rank) numbers[static_cast<std::size_t>(rank)] = rank;
    for (int rank = 0; rank < ranks; ++rank) logs.emplace_back(block, numbers, rank);
  }

  ControlBlock block;
  std::vector<int> numbers;
  std::vector<CallLog> logs;
  std::vector<std::string> found = {};

  [[nodiscard]] std::uint64_t entered() const {
    std::uint64_t all = 0;
    for (int rank = 0; rank < block.ranks(); ++rank) all = all * 100 + block.entered(rank);
    return all;
  }
  void note(const std::optional<std::string>& difference) {
    if (difference) found.push_back(*difference);
  }
};

// To come to a call is a step, and to look at what the others have called is one. The last rank
// calls something else the `odd`-th time, or nothing else. One rank that looks as often as not is
// enough.
Interleavings call(int ranks, std::uint64_t calls, std::uint64_t odd) {
  return go_through_all_orders([=] {
    auto all = std::make_shared<Calling>(ranks);
    Interleaved run{.ends = {},
                    .wrong =
                        [=] {
                          const bool is_found = !all->found.empty();
                          if (is_found == (odd > 0)) return std::string();
                          return is_found ? all->found.front() : std::string("nobody finds it");
                        },
                    .shared = [=] { return all->entered(); }};
    for (int rank = 0; rank < ranks; ++rank)
      run.ends.emplace_back([=] {
        CallLog& log = all->logs[static_cast<std::size_t>(rank)];
        const auto look = [&](auto compare) {
          step();
          note_seen(all->entered());
          all->note(compare());
        };
        for (std::uint64_t number = 1; number <= calls; ++number) {
          step();
          log.enter(all_reduce(rank == ranks - 1 && number == odd ? 99 : number));
          look([&] { return log.compare(); });
        }
        look([&] { return log.compare_with_slower(); });
      });
    return run;
  });
}

TEST_F(AllOrdersOf, CallsThatDifferAreFoundBySomebody) {
  for (const std::uint64_t odd : {1U, 2U})
    EXPECT_EQ(call(2, short_or_long(2U, 3U), odd).wrong, "") << odd;
  EXPECT_EQ(call(3, short_or_long(1U, 2U), 1).wrong, "");
}

TEST_F(AllOrdersOf, CallsThatAreAlikeAreFoundDifferentByNobody) {
  EXPECT_EQ(call(2, short_or_long(3U, 4U), 0).wrong, "");
  EXPECT_EQ(call(3, short_or_long(1U, 2U), 0).wrong, "");
}

}  // namespace
}  // namespace polypath::test::all_orders_test
