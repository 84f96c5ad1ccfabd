#include "communicator/bootstrap/bootstrap.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "communicator/bootstrap/sockets.h"
#include "communicator/together.h"
#include "support/errors.h"

namespace polypath::test::bootstrap_test {
namespace {

using test::expect_no_errors;
using test::in_threads;
using test::kLong;
using test::kShort;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// The ends of some ranks, and what they need.
struct Ends {
  std::shared_ptr<test::Folder> folder = {};
  std::vector<std::unique_ptr<Bootstrap>> all = {};

  Bootstrap& operator[](int rank) const { return *all[static_cast<std::size_t>(rank)]; }
};

// A port that is free now.
std::string free_address(const std::string& host = "127.0.0.1") {
  return SocketAddress{host, own_address(listen_at({host, "0"})).port}.text();
}

// Ends of one kind for `ranks` threads, each made by a thread of its own.
template <class Make>
Ends made_by(int ranks, Make make) {
  Ends ends;
  ends.all.resize(static_cast<std::size_t>(ranks));
  expect_no_errors(
      in_threads(ranks, [&](int rank) { ends.all[static_cast<std::size_t>(rank)] = make(rank); }));
  return ends;
}

Ends by_threads(int ranks) { return {.all = bootstrap_among_threads(ranks)}; }
Ends by_file(int ranks) {
  const auto folder = std::make_shared<test::Folder>();
  Ends ends = made_by(
      ranks, [&](int rank) { return bootstrap_by_file(folder->path(), rank, ranks, kLong); });
  ends.folder = folder;
  return ends;
}
Ends by_address(int ranks) {
  const std::string address = free_address();
  return made_by(ranks,
                 [&](int rank) { return bootstrap_by_address(address, rank, ranks, kLong); });
}
Ends by_ipv6_address(int ranks) {
  const std::string address = free_address("::1");
  return made_by(ranks,
                 [&](int rank) { return bootstrap_by_address(address, rank, ranks, kLong); });
}

// What MPI would give: functions over another bootstrap.
BootstrapFunctions functions_over(const std::shared_ptr<Bootstrap>& inner) {
  return {.all_gather = [=](const Blob& mine,
                            Seconds timeout) { return inner->all_gather(mine, timeout); },
          .split =
              [=](const Subgroup& group) {
                std::shared_ptr<Bootstrap> part = inner->split(group.color, group.rank, kLong);
                return part ? functions_over(part) : BootstrapFunctions{};
              }};
}
Ends by_functions(int ranks) {
  Ends ends;
  for (auto& inner : bootstrap_among_threads(ranks)) {
    const int rank = inner->rank();
    ends.all.push_back(bootstrap_by_functions(functions_over(std::move(inner)), rank, ranks));
  }
  return ends;
}

struct Kind {
  const char* name;
  Ends (*make)(int ranks);
};

class EveryBootstrap : public testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(Bootstraps, EveryBootstrap,
                         testing::Values(Kind{"threads", by_threads}, Kind{"file", by_file},
                                         Kind{"address", by_address}, Kind{"ipv6", by_ipv6_address},
                                         Kind{"functions", by_functions}),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(EveryBootstrap, BringsWhatEachGaveToAll) {
  for (const int ranks : {1, 2, 3, 5, 7, 8}) {
    const Ends ends = GetParam().make(ranks);

    expect_no_errors(in_threads(ranks, [&](int rank) {
      Bootstrap& mine = ends[rank];
      for (int round = 0; round < 20; ++round) {
        const auto blobs = mine.all_gather(std::to_string(100 * round + rank), kLong);
        ASSERT_EQ(blobs.size(), static_cast<std::size_t>(ranks));
        for (int from = 0; from < ranks; ++from)
          ASSERT_EQ(blobs[static_cast<std::size_t>(from)], std::to_string(100 * round + from));
      }
    }));
  }
}

// More than a socket takes at once, nothing at all, and zeros.
TEST_P(EveryBootstrap, BringsBytesOfAnyNumberAndValue) {
  const Ends ends = GetParam().make(3);
  const std::vector<Blob> given{Blob(5'000'000, '\xff'), "", Blob("a\0b\n", 4)};

  expect_no_errors(in_threads(3, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    EXPECT_EQ(ends[rank].all_gather(given[at], kLong), given);
  }));
}

TEST_P(EveryBootstrap, NamesWhoDoesNotComeAndIsThenOfNoUse) {
  const Ends ends = GetParam().make(4);

  const auto errors = in_threads(4, [&](int rank) {
    if (rank != 1 && rank != 3) ends[rank].all_gather("", {1.0});
  });

  EXPECT_THAT(errors[0], HasSubstr("ranks 1 and 3 did not come in time"));
  EXPECT_THAT(errors[2], HasSubstr("ranks 1 and 3 did not come in time"));
  test::expect_error(
      ErrorCode::communicator, [&] { ends[0].all_gather("", kShort); }, "an earlier round failed");
}

// Ranks 0 … 4 by color and key: (1, 5) (0, 0) (1, 3) (-1, 0) (0, 0).
TEST_P(EveryBootstrap, IsSplitByColorAndKey) {
  const Ends ends = GetParam().make(5);
  const std::vector<int> colors{1, 0, 1, -1, 0}, keys{5, 0, 3, 0, 0};
  std::vector<std::vector<Blob>> seen(5);

  expect_no_errors(in_threads(5, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    const auto part = ends[rank].split(colors[at], keys[at], kLong);
    if (part) seen[at] = part->all_gather(std::to_string(rank), kLong);
    ends[rank].all_gather("", kLong);  // all go on together
  }));

  EXPECT_THAT(seen[0], ElementsAre("2", "0"));
  EXPECT_THAT(seen[1], ElementsAre("1", "4"));
  EXPECT_THAT(seen[2], ElementsAre("2", "0"));
  EXPECT_THAT(seen[3], ElementsAre());
  EXPECT_THAT(seen[4], ElementsAre("1", "4"));
}

TEST_P(EveryBootstrap, IsSplitAgainAndAgain) {
  const Ends ends = GetParam().make(4);

  expect_no_errors(in_threads(4, [&](int rank) {
    const auto half = ends[rank].split(rank / 2, 0, kLong);
    const auto alone = half->split(half->rank(), 0, kLong);
    const auto again = half->split(0, -half->rank(), kLong);
    EXPECT_EQ(alone->size(), 1);
    EXPECT_EQ(again->rank(), 1 - half->rank());
    EXPECT_THAT(again->all_gather("x", kLong), ElementsAre("x", "x"));
  }));
}

TEST_P(EveryBootstrap, StopsWaitingWhenItIsTold) {
  if (std::string(GetParam().name) == "functions") GTEST_SKIP() << "others wait there";

  for (const int rank : {0, 1}) {
    const Ends ends = GetParam().make(2);
    ends[rank].while_waiting([] { fail(ErrorCode::driver, "There is no hope"); });
    test::expect_error(
        ErrorCode::driver, [&] { ends[rank].all_gather("", kLong); }, "no hope");
  }
}

TEST_P(EveryBootstrap, TellsAtOnceWhyARankHasGivenUp) {
  if (std::string(GetParam().name) == "functions") GTEST_SKIP() << "others wait there";

  for (const int gone : {0, 1, 2}) {
    const Ends ends = GetParam().make(3);
    expect_no_errors(in_threads(3, [&](int rank) { ends[rank].all_gather("", kLong); }));

    const auto errors = in_threads(3, [&](int rank) {
      if (rank == gone) ends[rank].give_up("there is no GPU");
      else ends[rank].all_gather("", kLong);
    });

    const std::string told = fmt::format("Rank {} has given up (there is no GPU)", gone);
    for (const int rank : {0, 1, 2})
      if (rank != gone) EXPECT_THAT(errors[static_cast<std::size_t>(rank)], HasSubstr(told));
  }
}

TEST_P(EveryBootstrap, TellsAtOnceThatARankHasLeft) {
  if (std::string(GetParam().name) == "functions") GTEST_SKIP() << "others wait there";

  for (const int gone : {0, 1, 2}) {
    Ends ends = GetParam().make(3);
    expect_no_errors(in_threads(3, [&](int rank) { ends[rank].all_gather("", kLong); }));
    ends.all[static_cast<std::size_t>(gone)].reset();

    const auto errors = in_threads(3, [&](int rank) {
      if (rank != gone) ends[rank].all_gather("", kLong);
    });

    for (const int rank : {0, 1, 2})
      if (rank != gone)
        EXPECT_THAT(errors[static_cast<std::size_t>(rank)],
                    HasSubstr(fmt::format("Rank {} has gone", gone)));
  }
}

TEST_P(EveryBootstrap, EndsARoundThatAllRanksMakeThoughOneLeavesAfterIt) {
  for (int again = 0; again < 20; ++again) {
    Ends ends = GetParam().make(3);
    expect_no_errors(in_threads(3, [&](int rank) {
      ends[rank].all_gather("", kLong);
      ends.all[static_cast<std::size_t>(rank)].reset();
    }));
  }
}

TEST(Bootstrap, HasRanksFromZeroOn) {
  for (const int rank : {-1, 2, 3})
    test::expect_invalid_argument([&] { bootstrap_by_file("x", rank, 2, kShort); }, "no rank",
                                  std::to_string(rank));
  test::expect_invalid_argument([] { bootstrap_by_address("x:1", 0, 0, kShort); }, "rank 0 of 0");
}

TEST(FunctionBootstrap, RefusesARoundThatBringsTooLittle) {
  const auto one = bootstrap_by_functions(
      {.all_gather = [](const Blob& mine, Seconds) { return std::vector<Blob>{mine}; },
       .split = {}},
      0, 2);

  test::expect_error(
      ErrorCode::communicator, [&] { one->all_gather("", kShort); }, "brought bytes of 1");
}

TEST(FunctionBootstrap, CannotBeSplitWithoutAFunction) {
  const auto one = bootstrap_by_functions(
      {.all_gather = [](const Blob& mine, Seconds) { return std::vector<Blob>{mine}; },
       .split = {}},
      0, 1);

  test::expect_error(
      ErrorCode::unsupported, [&] { one->split(0, 0, kShort); }, "split");
}

}  // namespace
}  // namespace polypath::test::bootstrap_test
