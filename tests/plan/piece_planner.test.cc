// Many small copies between two places: which paths they go over, and what that gains.

#include "plan/piece_planner.h"

#include <gmock/gmock.h>

#include "machine/load_machine.h"

namespace polypath::test {
namespace {

class Pieces : public testing::Test {
 protected:
  PieceRecipePointer recipe(const std::string& machine_name, const std::string& from,
                            const std::string& to, std::size_t pieces, Bytes size,
                            const Settings& settings = {}, std::size_t copies = 0) {
    machine_ = load_machine(machine_name);
    Planner planner(machine_, settings);
    const auto [source, destination] = machine_.find_ends(from, to);
    return PiecePlanner(planner).recipe(piece_request(
        source, destination, pieces, size * pieces, copies == 0 ? pieces : copies));
  }
  static double gain(const PieceRecipePointer& recipe) {
    return recipe->plan->native_predicted / recipe->plan->predicted;
  }

  Machine machine_;
};

TEST_F(Pieces, OfAKeyValueCacheUseTheLinksOfOtherGpus) {
  for (const Bytes size : {64_KiB, 1_MiB}) {
    const auto in = recipe("h200x4", "host", "gpu0", 512, size);
    const auto out = recipe("h200x4", "gpu0", "host", 512, size);

    EXPECT_EQ(in->plan->executor(), Executor::stream);
    EXPECT_GE(gain(in), 1.5) << size.value;
    EXPECT_GE(gain(out), 1.5) << size.value;
  }
}

}  // namespace
}  // namespace polypath::test
