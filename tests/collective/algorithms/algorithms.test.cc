// Every algorithm does what its operations promise: every element of every rank within the bound,
// the same bits on every rank, no byte beside, no race, nothing leaked.

#include <gmock/gmock.h>

#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "support/effort.h"
#include "support/errors.h"

namespace polypath::test::algorithms_test {
namespace {

CollectiveRequest request_of(const Machine& machine, Collective collective, int ranks,
                             std::uint64_t elements) {
  return {.collective = collective,
          .ranks = first_gpus(machine, ranks),
          .elements = elements,
          .root = ranks - 1};
}

template <class Action>
void for_all(Action action) {
  for (const Algorithm& algorithm : algorithms())
    for (const Collective collective : algorithm.collectives) action(algorithm, collective);
}

// 1009 is prime: no number of ranks or pieces divides it.
TEST(Algorithms, AreRightForAnyNumberOfRanks) {
  const Machine machine = load_machine("h200x8");
  for_all([&](const Algorithm& algorithm, Collective collective) {
    for (const int ranks : short_or_long<std::vector<int>>({3, 8}, {2, 3, 4, 5, 6, 7, 8}))
      expect_right(machine, algorithm, request_of(machine, collective, ranks, 1009),
                   {.piece = 256_B});
  });
}

TEST(Algorithms, AreRightInPlace) {
  const Machine machine = load_machine("h200x8");
  for_all([&](const Algorithm& algorithm, Collective collective) {
    for (const int ranks : short_or_long<std::vector<int>>({2, 7}, {2, 3, 4, 7, 8})) {
      CollectiveRequest request = request_of(machine, collective, ranks, 1009);
      request.in_place = true;
      expect_right(machine, algorithm, request, {.piece = 512_B});
    }
  });
}

TEST(Algorithms, AreRightWithFewerElementsThanRanks) {
  const Machine machine = load_machine("h200x8");
  for_all([&](const Algorithm& algorithm, Collective collective) {
    for (const std::uint64_t elements : {1U, 2U, 7U})
      expect_right(machine, algorithm, request_of(machine, collective, 5, elements), {});
  });
}

std::vector<Reduction> all_reductions() {
  std::vector<Reduction> all;
  for (const ElementType type : all_element_types())
    for (const ReduceOperator operation : all_reduce_operators())
      if (can_reduce(operation, type)) all.push_back({operation, type});
  return all;
}

// In the short form one in seven of each algorithm, in turn: all of them more than once.
TEST(Algorithms, AreRightAtAnyAlignmentAndOfAnyTypeAndReduction) {
  const Machine machine = load_machine("cedar");
  const std::vector<Reduction> reductions = all_reductions();
  std::size_t turn = 0;
  for_all([&](const Algorithm& algorithm, Collective collective) {
    const std::size_t step = short_or_long(7, 1);
    for (std::size_t k = turn++ % step; k < reductions.size(); k += step) {
      CollectiveRequest request = request_of(machine, collective, 4, 331);
      request.reduction = reductions[k];
      expect_right(machine, algorithm, request, {.piece = 128_B}, 3_B);
    }
  });
}

TEST(Algorithms, AreRightOnEveryKindOfMachine) {
  for (const char* name : {"cedar", "mist", "nop2p4", "pcie4", "synthetic:1", "synthetic:2",
                           "synthetic:3", "synthetic:4", "synthetic:5", "synthetic:6"}) {
    if (is_left_out(name, {"cedar", "synthetic:4", "synthetic:5", "synthetic:6"})) continue;
    const Machine machine = load_machine(name);
    const int gpus = static_cast<int>(machine.places_of(PlaceKind::gpu).size());
    for_all([&](const Algorithm& algorithm, Collective collective) {
      expect_right(machine, algorithm, request_of(machine, collective, gpus, 4099),
                   {.piece = 2_KiB});
    });
  }
}

TEST(Algorithms, AreRightOverSeveralPaths) {
  using Case = std::pair<const char*, int>;
  for (const auto& [name, ranks] : short_or_long<std::vector<Case>>(
           {{"beluga", 4}}, {{"beluga", 2}, {"beluga", 4}, {"mist", 2}, {"mist", 4}})) {
    const Machine machine = load_machine(name);
    for_all([&, ranks = ranks](const Algorithm& algorithm, Collective collective) {
      expect_right(machine, algorithm, request_of(machine, collective, ranks, 1 << 18),
                   {.piece = 256_KiB, .several_paths = true});
    });
  }
}

// Chunks of a piece go over staged paths from a few MiB on only.
TEST(Algorithms, AreRightWherePiecesGoOverStagedPaths) {
  const Machine machine = load_machine("beluga");
  for (const char* name : {"flat", "knomial"}) {
    const CollectiveRequest request = request_of(machine, Collective::all_reduce, 4, 1 << 23);
    const Tuning tuning{.piece = 8_MiB, .several_paths = true};
    Ranks ranks(machine, request);
    Routes routes(machine, collective_settings());
    const CollectiveProgram program(build(find_algorithm(name), machine, request, tuning, &routes),
                                    Executor::stream);

    ranks.run(program);

    EXPECT_TRUE(ranks.right()) << name;
    EXPECT_THAT(ranks.close(), testing::IsEmpty());
  }
}

TEST(Algorithms, RefuseWhatTheyDoNotDo) {
  const Machine machine = load_machine("cedar");

  expect_invalid_argument(
      [&] {
        (void)build(find_algorithm("flat"), machine,
                    request_of(machine, Collective::all_to_all, 4, 8), {});
      },
      "alltoall", "flat");
  expect_invalid_argument([] { (void)find_algorithm("flatt"); }, "flatt", "flat");
}

}  // namespace
}  // namespace polypath::test::algorithms_test
