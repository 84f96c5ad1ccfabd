// Many small copies between two places: which paths they go over, and what that gains.

#include "plan/pieces/piece_planner.h"

#include <gmock/gmock.h>

#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::piece_planner_test {
namespace {

class Pieces : public testing::Test {
 protected:
  PieceRecipePointer recipe(const std::string& machine_name, const std::string& from,
                            const std::string& to, std::size_t pieces, Bytes size,
                            const Settings& settings = {}, std::size_t copies = 0) {
    machine_ = load_machine(machine_name);
    Planner planner(machine_, settings);
    const auto [source, destination] = machine_.find_ends(from, to);
    return PiecePlanner(planner).recipe(
        piece_request(source, destination, pieces, size * pieces, copies == 0 ? pieces : copies));
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

TEST_F(Pieces, OfOneKindHaveOneRecipe) {
  const Machine machine = load_machine("h200x4");
  Planner planner(machine, {});
  PiecePlanner pieces(planner);
  const auto [source, destination] = machine.find_ends("host", "gpu0");
  const auto recipe_for = [&, from = source, to = destination](std::size_t number, Bytes mean) {
    return pieces.recipe(piece_request(from, to, number, mean * number, number));
  };

  EXPECT_EQ(recipe_for(500, 64_KiB), recipe_for(5000, 66_KiB));
  EXPECT_EQ(recipe_for(100, 64_KiB), recipe_for(97, 60_KiB));
  EXPECT_NE(recipe_for(100, 64_KiB), recipe_for(200, 64_KiB));
  EXPECT_NE(recipe_for(100, 64_KiB), recipe_for(100, 128_KiB));
}

TEST_F(Pieces, ThatGainTooLittleGoNatively) {
  Settings settings;
  settings.min_gain = 0.1;

  EXPECT_EQ(recipe("h200x4", "host", "gpu0", 512, 64_KiB, settings)->plan->executor(),
            Executor::stream);
  settings.min_gain = 0.6;
  EXPECT_EQ(recipe("h200x4", "host", "gpu0", 512, 64_KiB, settings)->plan->executor(),
            Executor::native);
}

TEST_F(Pieces, AreLimitedByTheCallingThread) {
  const double gain_of_small = gain(recipe("h200x4", "host", "gpu0", 512, 4_KiB));
  const double gain_of_large = gain(recipe("h200x4", "host", "gpu0", 512, 1_MiB));

  EXPECT_LT(gain_of_small, 1.6);
  EXPECT_GT(gain_of_large, 2.5);
}

// Copies in a row between two GPUs behind a switch take less than one by itself and again, and
// another path has nothing else to save.
TEST_F(Pieces, ThatWouldOnlySaveLatencyGoNatively) {
  EXPECT_EQ(recipe("h200x4", "gpu0", "gpu1", 512, 64_KiB)->plan->executor(), Executor::native);
  EXPECT_EQ(recipe("h200x4", "gpu0", "gpu1", 512, 4_KiB)->plan->executor(), Executor::native);
}

TEST_F(Pieces, OfOneMachinesMemoryUseNoMorePathsThanTheyMay) {
  Settings settings;
  settings.max_paths = 2;

  const auto limited = recipe("h200x4", "host", "gpu0", 512, 1_MiB, settings);

  EXPECT_EQ(limited->plan->shape.paths.size(), 2U);
  EXPECT_NEAR(gain(limited), 2, 0.1);
}

TEST_F(Pieces, ThatNeighboursHaveBecomeGainByFewerCalls) {
  const auto joined = recipe("h200x4", "host", "gpu0", 16, 2_MiB, {}, 512);

  EXPECT_EQ(joined->plan->executor(), Executor::stream);
  EXPECT_GT(gain(joined), 3);
}

TEST_F(Pieces, StageNothingWhereNothingMayBeStaged) {
  const Machine machine = load_machine("h200x4");
  Planner planner(machine, {});
  const auto [source, destination] = machine.find_ends("host", "gpu0");
  PieceRequest request = piece_request(source, destination, 512, 512_MiB, 512);
  for (const char* relay : {"gpu1", "gpu2"})
    request.left_out.add(machine.find_place(relay), LeftOutBecause::preparation_failed);

  const auto recipe = PiecePlanner(planner).recipe(request);

  ASSERT_EQ(recipe->plan->shape.paths.size(), 2U);
  EXPECT_EQ(name_of(machine, recipe->plan->shape.paths[1].path), "gpu3");
}

// --- by kernels ---

class PiecesByKernels : public Pieces {
 protected:
  PieceRecipePointer by_kernels(const std::string& machine_name, const std::string& from,
                                const std::string& to, std::size_t pieces, Bytes size) {
    machine_ = load_machine(machine_name);
    Planner planner(machine_, {});
    const auto [source, destination] = machine_.find_ends(from, to);
    PieceRequest request = piece_request(source, destination, pieces, size * pieces, pieces);
    request.issuer = machine_.place(source).kind == PlaceKind::gpu ? source : destination;
    return PiecePlanner(planner).recipe(request);
  }
};

// n = 16 MiB from the host's memory, which gives 150.7 GB/s to the links of all GPUs, of which
// kernels reach e = 0.93: n/(e·150.7 GB/s) = 119.7 us. Three links of 55.1 GB/s are enough for
// that. Beside it three launches, 6 us each, latencies, and what whole pieces leave over.
TEST_F(PiecesByKernels, TakeWhatTheirLinksTakeAndALaunchOfEachGpu) {
  const auto recipe = by_kernels("h200x4", "host", "gpu0", 256, 64_KiB);

  ASSERT_TRUE(recipe->issuer.has_value());
  EXPECT_EQ(recipe->plan->shape.paths.size(), 3U);
  EXPECT_GT(recipe->plan->predicted, 119.7_us);
  EXPECT_LT(recipe->plan->predicted, 119.7_us + 3 * 6_us + 30_us);
}

TEST_F(PiecesByKernels, GainMostWhereCopiesAreSmall) {
  EXPECT_GE(gain(by_kernels("h200x4", "host", "gpu0", 512, 4_KiB)), 10);
  EXPECT_GE(gain(by_kernels("h200x4", "gpu0", "host", 512, 64_KiB)), 4);
  EXPECT_GE(gain(by_kernels("h200x4", "gpu0", "gpu1", 512, 64_KiB)), 4);
}

// Kernels reach less of a link than copy engines, and take multiprocessors from the program.
TEST_F(PiecesByKernels, LeaveLargePiecesToCopies) {
  const auto recipe = by_kernels("h200x4", "gpu0", "host", 64, 8_MiB);

  EXPECT_FALSE(recipe->issuer.has_value());
  EXPECT_EQ(recipe->plan->executor(), Executor::stream);
}

TEST_F(PiecesByKernels, UseOnlyGpusThatReachBothEnds) {
  const auto recipe = by_kernels("nop2p4", "host", "gpu0", 512, 16_KiB);

  ASSERT_TRUE(recipe->issuer.has_value());
  EXPECT_EQ(recipe->plan->shape.paths.size(), 1U);
}

}  // namespace
}  // namespace polypath::test::piece_planner_test
