// The address of a process's board in ids of NCCL.

#include "nccl/board_in_id.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <string_view>

#include "support/layers.h"

namespace polypath::test::board_in_id_test {
namespace {

using nccl::board_in;
using nccl::put_board;
using nccl::UniqueId;

std::string_view text_of(const UniqueId& id) { return {id.internal.data(), id.internal.size()}; }

TEST(BoardInId, IsFoundByAllThatGetTheId) {
  UniqueId id{};
  id.internal[0] = 'a';

  put_board(id);

  const auto board = board_in(text_of(id));
  ASSERT_TRUE(board);
  BoardPresence alone(*board, "of this test", 0, "here");
  EXPECT_THAT(alone.said_by_all(1), testing::Optional(testing::ElementsAre("here")));
  EXPECT_EQ(id.internal[0], 'a');
}

TEST(BoardInId, OfOneProcessIsTheSameForAllIds) {
  UniqueId first{}, second{};

  put_board(first), put_board(second);

  EXPECT_EQ(board_in(text_of(first))->token, board_in(text_of(second))->token);
}

TEST(BoardInId, IsNoneWhereTheRealLibraryUsesTheRoom) {
  UniqueId id{};
  id.internal.back() = 'x';
  const UniqueId before = id;

  put_board(id);

  EXPECT_EQ(id.internal, before.internal);
  EXPECT_FALSE(board_in(text_of(id)));
}

// Each rank makes such an id by itself, and all have the same.
TEST(BoardInId, IsNoneInIdsThatAVariableNames) {
  UniqueId id{};
  ::setenv("NCCL_COMM_ID", "127.0.0.1:1234", 1);

  put_board(id);

  ::unsetenv("NCCL_COMM_ID");
  EXPECT_FALSE(board_in(text_of(id)));
}

TEST(BoardInId, IsNoneInOtherIds) {
  const UniqueId id{};

  EXPECT_FALSE(board_in(text_of(id)));
  EXPECT_FALSE(board_in("short"));
}

}  // namespace
}  // namespace polypath::test::board_in_id_test
