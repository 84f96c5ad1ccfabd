// Plays that a joint search remembers are found by what was played, and only by that.

#include "plan/joint/known_plays.h"

#include <gtest/gtest.h>

#include "machine/load_machine.h"
#include "model/path.h"
#include "plan/plan.h"
#include "support/layers.h"

namespace polypath::test::known_plays_test {
namespace {

class KnownPlaysOfMist : public testing::Test {
 protected:
  [[nodiscard]] TransferShape shape(std::size_t path, std::vector<Bytes> chunks,
                                    Executor executor = Executor::stream) const {
    return {executor, {{paths_[path], std::move(chunks)}}};
  }

  Machine machine_ = load_machine("mist");
  std::vector<Path> paths_ = find_paths(machine_, PlaceId{0}, PlaceId{1});
  KnownPlays known_;
};

TEST_F(KnownPlaysOfMist, AreFoundAgain) {
  const std::vector<TransferShape> played = {shape(0, {1_MiB}), shape(1, {2_MiB, 1_MiB})};
  EXPECT_EQ(known_.find(played), nullptr);
  known_.add({{.time = 3_us}, {.time = 4_us}});

  const auto* found = known_.find(played);

  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->back().time, 4_us);
}

TEST_F(KnownPlaysOfMist, AreNoOthers) {
  ASSERT_EQ(known_.find(std::vector{shape(1, {2_MiB, 1_MiB})}), nullptr);
  known_.add({{.time = 3_us}});

  EXPECT_EQ(known_.find(std::vector{shape(2, {2_MiB, 1_MiB})}), nullptr);
  EXPECT_EQ(known_.find(std::vector{shape(1, {1_MiB, 2_MiB})}), nullptr);
  EXPECT_EQ(known_.find(std::vector{shape(1, {2_MiB, 1_MiB}, Executor::graph)}), nullptr);
  const TransferShape first = shape(0, {1_MiB}), second = shape(1, {2_MiB, 1_MiB});
  ASSERT_EQ(known_.find(std::vector{first, second}), nullptr);
  known_.add({{}, {}});
  EXPECT_EQ(known_.find(std::vector{second, first}), nullptr);
}

}  // namespace
}  // namespace polypath::test::known_plays_test
