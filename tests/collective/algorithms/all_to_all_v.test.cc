// All-to-all with blocks of different sizes, some of them empty, and send/receive, which is one
// block.

#include <gmock/gmock.h>

#include "collective/choose/choose.h"
#include "collective/support/ranks.h"
#include "core/text.h"
#include "machine/load_machine.h"
#include "support/errors.h"

namespace polypath::test::all_to_all_v_test {
namespace {

CollectiveRequest request_of(const Machine& machine, int ranks, std::uint64_t elements,
                             std::vector<std::uint64_t> counts) {
  return {.collective = Collective::all_to_all_v,
          .ranks = first_gpus(machine, ranks),
          .elements = elements,
          .counts = std::move(counts)};
}

// Three ranks, 10 elements of 4 bytes per count: rank 0 sends 0, 2, 1 to ranks 0, 1, 2, rank 1
// sends 3, 0, 0 and rank 2 sends 1, 4, 5.
TEST(AllToAllV, HasTheBlocksOfItsCounts) {
  const CollectiveRequest request =
      request_of(load_machine("cedar"), 3, 10, {0, 2, 1, 3, 0, 0, 1, 4, 5});

  EXPECT_EQ(input_bytes(request, 0), 120_B);
  EXPECT_EQ(input_bytes(request, 2), 400_B);
  EXPECT_EQ(output_bytes(request, 0), 160_B);
  EXPECT_EQ(output_bytes(request, 1), 240_B);
  EXPECT_EQ(message_bytes(request), 400_B);
  EXPECT_EQ(block_sent(request, 2, 1).offset, 40_B);
  EXPECT_EQ(block_sent(request, 2, 1).bytes, 160_B);
  EXPECT_EQ(block_received(request, 2, 1).offset, 80_B);
  EXPECT_EQ(block_received(request, 1, 1).bytes, 0_B);
  // Rank 1 gets 240 bytes from others and sends 120; no other exchanges more. Rank 2's own 200 do
  // not count.
  EXPECT_DOUBLE_EQ(bus_factor(request), 240.0 / 400);
}

std::vector<std::uint64_t> random_counts(Random& random, int ranks, bool symmetric) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::uint64_t> counts(n * n);
  for (std::size_t from = 0; from < n; ++from)
    for (std::size_t to = 0; to < n; ++to)
      counts[from * n + to] = symmetric && to < from ? counts[to * n + from]
                              : random.chance(30)    ? 0
                                                     : random.between(1, 3000);
  counts[1] = 1;  // not all are 0
  if (symmetric) counts[n] = 1;
  return counts;
}

TEST(AllToAllV, IsRightForAnyCounts) {
  Random random(7);
  for (int number = 0; number < 60 && !testing::Test::HasFailure(); ++number) {
    const Machine machine = synthetic_machine(random.between(1, 1000));
    const int gpus = static_cast<int>(machine.places_of(PlaceKind::gpu).size());
    const int ranks = random.integer(2, gpus);
    const bool in_place = random.chance(30);
    CollectiveRequest request =
        request_of(machine, ranks, random.between(1, 3), random_counts(random, ranks, in_place));
    request.in_place = in_place;
    request.reduction.type = random.pick(all_element_types());
    expect_right(machine, find_algorithm("exchange"), request,
                 {.piece = {random.between(64, 16'384)},
                  .several_paths = random.chance(30),
                  .private_memory = random.chance(30),
                  .in_turn = random.chance(30)},
                 {random.between(0, 16)});
  }
}

// Blocks are counted in elements where nothing else divides them all.
TEST(AllToAllV, OfManyTimesOneElementIsChosenAsOfManyElements) {
  const Machine machine = load_machine("h200x4");
  for (const Bytes block : {64_MiB, 256_MiB, 16_GiB}) {
    const std::uint64_t elements = block.value / 4;
    const std::vector<std::uint64_t> ones(16, 1), all(16, elements);
    CollectivePlanner planner(machine, {});

    const CollectiveDraft many = planner.choose(request_of(machine, 4, elements, ones)).chosen();
    const CollectiveDraft one = planner.choose(request_of(machine, 4, 1, all)).chosen();

    EXPECT_EQ(one.tuning.piece, many.tuning.piece) << describe_bytes(block);
    EXPECT_NEAR(one.predicted / many.predicted, 1, 1e-4) << describe_bytes(block);
  }
}

TEST(AllToAllV, WithoutCountsIsAnAllToAll) {
  const Machine machine = load_machine("h200x4");
  CollectiveRequest request = request_of(machine, 4, 100, {});
  const Program program = build(find_algorithm("exchange"), machine, request, {});
  request.collective = Collective::all_to_all;

  EXPECT_EQ(structure_of(program),
            structure_of(build(find_algorithm("exchange"), machine, request, {})));
}

TEST(AllToAllV, SaysWhatIsWrongWithItsCounts) {
  const Machine machine = load_machine("cedar");
  const auto refused = [&](std::vector<std::uint64_t> counts, const char* why, bool in_place) {
    CollectiveRequest request = request_of(machine, 2, 5, std::move(counts));
    request.in_place = in_place;
    expect_invalid_argument([&] { check(machine, request); }, why);
  };

  refused({1, 2, 3}, "2 ranks have 4 pairs", false);
  refused({0, 0, 0, 0}, "all 0", false);
  refused({1, 2, 3, 1}, "in place", true);
  refused({1, std::uint64_t{1} << 60, 3, 1}, "too many", false);
  CollectiveRequest other = request_of(machine, 2, 5, {1, 1, 1, 1});
  other.collective = Collective::all_gather;
  expect_invalid_argument([&] { check(machine, other); }, "allgather has no counts");
}

// What a transfer of so many bytes does, beside ranks that do nothing.
TEST(SendReceive, IsOneBlock) {
  const Machine machine = load_machine("beluga");
  const CollectiveRequest request = send_receive({.ranks = first_gpus(machine, 4),
                                                  .elements = 5000,
                                                  .reduction = {.type = ElementType::int16}},
                                                 3, 1);

  EXPECT_EQ(input_bytes(request, 3), 10000_B);
  EXPECT_EQ(output_bytes(request, 1), 10000_B);
  EXPECT_EQ(input_bytes(request, 1) + output_bytes(request, 3), 0_B);
  expect_right(machine, find_algorithm("exchange"), request, {.piece = 4_KiB});
  expect_right(machine, find_algorithm("exchange"), request,
               {.piece = 1_MiB, .several_paths = true});
}

// Messages of one GPU to three others that all begin with one hop: more than it has slots for.
TEST(AllToAll, IsRightWhereMessagesShareTheirFirstHop) {
  for (const int number : {121, 7, 33, 54}) {
    const Machine machine = synthetic_machine(number);
    const int gpus = static_cast<int>(machine.places_of(PlaceKind::gpu).size());
    if (gpus < 4) continue;
    const CollectiveRequest request = with_message(
        {.collective = Collective::all_to_all, .ranks = first_gpus(machine, 4), .elements = 1},
        4_MiB);
    for (const Bytes piece : {1_MiB, 256_KiB})
      expect_right(machine, find_algorithm("exchange"), request,
                   {.piece = piece, .several_paths = true});
  }
}

Seconds predicted(const Machine& machine, const CollectiveRequest& request, PathChoice paths) {
  return CollectivePlanner(machine, {}).plan(request, {.paths = paths}).chosen().predicted;
}

// beluga's GPUs are joined in pairs by two links each; 001 has 2.7 times for a message over three
// GPU paths and the host.
TEST(SendReceive, GoesOverSeveralPaths) {
  const Machine machine = load_machine("beluga");
  const CollectiveRequest request =
      send_receive({.ranks = first_gpus(machine, 4), .elements = (64_MiB).value / 4}, 0, 1);

  EXPECT_GT(predicted(machine, request, PathChoice::one) /
                predicted(machine, request, PathChoice::several),
            2);
}

// Only 0 and 1 have much to say to each other: the others' links carry a part of it.
TEST(AllToAllV, GoesOverSeveralPathsWhereItIsUneven) {
  const Machine machine = load_machine("beluga");
  std::vector<std::uint64_t> counts(16, 1);
  counts[1] = counts[4] = 20;
  const CollectiveRequest request =
      with_message(request_of(machine, 4, 1, std::move(counts)), 64_MiB);

  EXPECT_GT(predicted(machine, request, PathChoice::one) /
                predicted(machine, request, PathChoice::several),
            1.8);
}

}  // namespace
}  // namespace polypath::test::all_to_all_v_test
