// Ranks of any computer find each other by a board, without waiting for those that do not come.

#include "communicator/bootstrap/presence_board.h"

#include <gmock/gmock.h>

#include <thread>

#include "core/error.h"
#include "support/layers.h"

namespace polypath::test::presence_board_test {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::Optional;

constexpr std::uint64_t kToken = 12345;
constexpr Seconds kTimeout{30};

BoardAddress address_of(const PresenceBoard& board, std::uint64_t token = kToken) {
  return {{"127.0.0.1", board.port()}, token};
}

std::unique_ptr<Bootstrap> bootstrap_of(const PresenceBoard& board, int number, int rank,
                                        int size) {
  return bootstrap_by_board(
      std::make_shared<BoardPresence>(address_of(board), "of rounds", number, ""), rank, size);
}

TEST(PresenceBoard, GivesWhatAllHaveSaidOnceAllHaveCome) {
  const PresenceBoard board(kToken);
  BoardPresence second(address_of(board), "key", 1, "b");
  EXPECT_THAT(second.said_by_all(2), Eq(std::nullopt));

  BoardPresence first(address_of(board), "key", 0, "a");

  EXPECT_THAT(first.said_by_all(2), Optional(ElementsAre("a", "b")));
  EXPECT_THAT(second.said_by_all(2), Optional(ElementsAre("a", "b")));
}

TEST(PresenceBoard, KeepsWhatARankHasSaidThatHasGone) {
  const PresenceBoard board(kToken);
  BoardPresence first(address_of(board), "key", 0, "a");

  { const BoardPresence second(address_of(board), "key", 1, "b"); }

  EXPECT_THAT(first.said_by_all(2), Optional(ElementsAre("a", "b")));
}

TEST(PresenceBoard, TellsCommunicatorsApart) {
  const PresenceBoard board(kToken);
  BoardPresence first(address_of(board), "key", 0, "a");
  const BoardPresence other(address_of(board), "another", 1, "b");

  EXPECT_THAT(first.said_by_all(2), Eq(std::nullopt));
}

TEST(PresenceBoard, TurnsProcessesWithAnotherTokenAway) {
  const PresenceBoard board(kToken);
  BoardPresence first(address_of(board), "key", 0, "a");
  BoardPresence stranger(address_of(board, kToken + 1), "key", 1, "b");

  EXPECT_THAT(first.said_by_all(2), Eq(std::nullopt));
  EXPECT_THAT(stranger.said_by_all(2), Eq(std::nullopt));
}

TEST(PresenceBoard, RefusesASecondRankOfANumber) {
  const PresenceBoard board(kToken);
  BoardPresence first(address_of(board), "key", 0, "a");

  BoardPresence again(address_of(board), "key", 0, "b");

  EXPECT_THAT(first.said_by_all(1), Optional(ElementsAre("a")));
  EXPECT_THAT(again.said_by_all(1), Eq(std::nullopt));
}

TEST(PresenceBoard, CarriesRoundsOfRanksThatAreComplete) {
  const PresenceBoard board(kToken);
  const auto zero = bootstrap_of(board, 7, 0, 2), one = bootstrap_of(board, 3, 1, 2);
  std::vector<Blob> of_zero, of_one;

  std::jthread other([&] {
    for (const char* mine : {"b", "d"}) of_one = one->all_gather(mine, kTimeout);
  });
  for (const char* mine : {"a", "c"}) of_zero = zero->all_gather(mine, kTimeout);
  other.join();

  EXPECT_THAT(of_zero, ElementsAre("c", "d"));
  EXPECT_THAT(of_one, ElementsAre("c", "d"));
}

TEST(PresenceBoard, IsNotThereOnceItHasGone) {
  auto board = std::make_unique<PresenceBoard>(kToken);
  BoardPresence first(address_of(*board), "key", 0, "a");
  const auto alone = bootstrap_of(*board, 1, 0, 1);

  board.reset();

  EXPECT_THAT(first.said_by_all(1), Eq(std::nullopt));
  EXPECT_THROW((void)alone->all_gather("a", kTimeout), Error);
}

}  // namespace
}  // namespace polypath::test::presence_board_test
