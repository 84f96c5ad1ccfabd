// Scratch memory has slots, one behind the other. What a program puts into one ends within it, as
// long as its pieces are no larger than slots (collective/program/tuning.h): of every collective,
// by every algorithm, of any number of ranks, and if one of them has more than all others.

#include <gmock/gmock.h>

#include "collective/program/tuning.h"
#include "collective/support/rank_group.h"
#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "support/errors.h"

namespace polypath::test::slots_test {
namespace {

/// Up to where a program uses the slot that it uses most of.
Bytes most_used(const Program& program) {
  Bytes most;
  const auto use = [&](const Slice& slice, Bytes bytes) {
    if (program.buffer(slice).is_scratch()) most = std::max(most, slice.offset + bytes);
  };
  for (const Node& node : program.nodes()) {
    if (node.operation == Operation::kernel) {
      for (const Access& access : program.call_of(node).memory) use(access.slice, access.bytes);
      continue;
    }
    use(node.source, node.bytes);
    use(node.destination, node.bytes);
  }
  return most;
}

// By every algorithm that can: `action(algorithm, request)`.
template <class Action>
void for_all(const Machine& machine, int ranks, Action action) {
  for (const Algorithm& algorithm : algorithms())
    for (const Collective collective : algorithm.collectives) {
      CollectiveRequest request{
          .collective = collective,
          .ranks = first_gpus(machine, ranks),
          .elements = 50'021,
          .reduction = {.operation = ReduceOperator::sum, .type = ElementType::float64},
          .root = ranks - 1};
      if (collective == Collective::all_to_all_v) {
        // One gives the next one seven times as much as any other gives or gets.
        request.elements = 7'001;
        const auto n = static_cast<std::size_t>(ranks);
        request.counts.assign(n * n, 1);
        request.counts[1] = 7;
      }
      if (algorithm.does(machine, request)) action(algorithm, request);
    }
}

struct Kind {
  const char* name;
  Tuning tuning;
};

class Slots : public testing::TestWithParam<Kind> {};

// Pieces as large as slots, so that any byte added to one is too much.
constexpr Bytes kSlot = 32_KiB;

INSTANTIATE_TEST_SUITE_P(
    Of, Slots,
    testing::Values(Kind{"binary", {.piece = kSlot}}, Kind{"ternary", {.piece = kSlot, .radix = 3}},
                    Kind{"octal", {.piece = kSlot, .radix = 8}},
                    Kind{"private_memory", {.piece = kSlot, .private_memory = true}},
                    Kind{"in_turn", {.piece = kSlot, .in_turn = true}},
                    Kind{"several_paths", {.piece = kSlot, .several_paths = true}}),
    [](const auto& info) { return info.param.name; });

TEST_P(Slots, HoldWhatAnyProgramPutsIntoThem) {
  const bool several_paths = GetParam().tuning.several_paths;  // to plan them takes longer
  std::size_t using_slots = 0;
  for (const char* name : {"h200x8", "beluga", "nop2p4", "mist"}) {
    if (several_paths && name != std::string("beluga")) continue;
    const Machine machine = load_machine(name);
    const int gpus = static_cast<int>(machine.places_of(PlaceKind::gpu).size());
    Routes routes(machine, with_collective_slots(settings_with_slots(machine, kSlot), machine));
    for (int ranks = several_paths ? gpus : 2; ranks <= gpus; ++ranks)
      for_all(machine, ranks, [&](const Algorithm& algorithm, const CollectiveRequest& request) {
        const Program program = build(algorithm, machine, request, GetParam().tuning, &routes);

        const Bytes used = most_used(program);

        EXPECT_LE(used, kSlot) << algorithm.name << " " << name_of(request.collective) << " of "
                               << ranks << " ranks on " << name;
        using_slots += used > 0_B ? 1 : 0;
      });
  }
  EXPECT_GT(using_slots, several_paths ? 20U : 100U);
}

// One piece where there should be two, and slots for one half.
TEST(TooSmallSlots, AreRefusedBeforeAnythingRuns) {
  const Machine machine = load_machine("h200x4");
  const CollectiveRequest request{.ranks = first_gpus(machine, 3), .elements = 8192};
  const Program program = build(find_algorithm("flat"), machine, request, {.piece = 64_KiB});
  ASSERT_GT(most_used(program), 8_KiB);
  const Settings settings = settings_with_slots(machine, 8_KiB);

  Ranks ranks(machine, request, {}, settings);
  expect_error(
      ErrorCode::internal, [&] { ranks.run(CollectiveProgram(program, Executor::stream)); },
      "reaches beyond a staging slot");
  RankGroup group(machine, request.ranks, {}, settings);
  expect_error(
      ErrorCode::internal,
      [&] { group.prepare(divide(machine, program, request.ranks, Executor::stream)); },
      "reaches beyond a staging slot");
}

}  // namespace
}  // namespace polypath::test::slots_test
