// Programs: what may be added, which events they need, and the strings that they are known by.

#include "model/program.h"

#include <gtest/gtest.h>

#include <map>

#include "model/fan.h"
#include "support/errors.h"
#include "support/hand_machine.h"

namespace polypath::test::program_test {
namespace {

Program program_with(std::vector<PathShape> paths, int slots = 4) {
  return program_of(fan_machine(), {Executor::stream, std::move(paths)}, slots);
}

TEST(Program, RefusesANodeOfABufferThatIsNotThere) {
  Program program;
  program.add(ProgramBuffer{{0}});
  Node node;
  node.destination.buffer = 1;

  expect_error(
      ErrorCode::internal, [&] { program.add(node); }, "cannot be added");
}

TEST(Program, RefusesANodeAfterALaterOne) {
  Program program;
  program.add(ProgramBuffer{{0}});

  expect_error(
      ErrorCode::internal, [&] { program.add(Node{}, {0}); }, "cannot be added");
}

// The queue runs them in order anyhow.
TEST(Program, NeedsNoEdgeWithinAQueue) {
  Program program;
  program.add(ProgramBuffer{{0}});
  const int first = program.add(Node{});

  const int second = program.add(Node{}, {first});

  EXPECT_EQ(program.node(second).edges, 0U);
  EXPECT_FALSE(program.node(first).awaited);
}

// Four chunks in two slots. First copies are nodes 0, 2, 4, 6 and each awaited by the next node, so
// that one event does. Second copies 1 and 3 are awaited by nodes 4 and 6: while 1 is, 3 is
// recorded.
TEST(Program, UsesAnEventAgainOnceEverybodyWaitsForIt) {
  Program program = program_with({carrying(1, {10, 10, 10, 10})}, 2);

  program.assign_events();

  std::vector<int> events;
  for (const Node& node : program.nodes()) events.push_back(node.event);
  EXPECT_EQ(events, (std::vector<int>{0, 0, 0, 1, 0, -1, 0, -1}));
  EXPECT_EQ(program.events_of(0), 0);
  EXPECT_EQ(program.events_of(1), 1);
  EXPECT_EQ(program.events_of(2), 2);
}

// As streams do it: a record takes the event from a wait that comes only later.
TEST(Program, NeverTakesAnEventFromWhoStillHasToWait) {
  for_random_shapes([](const TransferShape&, int, const Program& built) {
    Program program = built;
    program.assign_events();
    std::map<std::pair<int, int>, int> recorded;  // by queue and event
    for (std::size_t n = 0; n < program.nodes().size(); ++n) {
      const Node& node = program.nodes()[n];
      for (const int earlier : program.after(node)) {
        const Node& awaited = program.node(earlier);
        EXPECT_EQ((recorded[{awaited.queue, awaited.event}]), earlier) << "node " << n;
      }
      if (node.awaited) recorded[{node.queue, node.event}] = static_cast<int>(n);
    }
  });
}

bool same(const Slice& a, const Slice& b, const Program& of_a, const Program& of_b) {
  const ProgramBuffer& x = of_a.buffer(a);
  const ProgramBuffer& y = of_b.buffer(b);
  return a.offset == b.offset && x.filled_over == y.filled_over && x.slot == y.slot &&
         (x.is_scratch() || a.buffer == b.buffer);
}

bool same(const Program& a, const Program& b) {
  const auto alike = [&](const Node& x, const Node& y) {
    const auto x_after = a.after(x), y_after = b.after(y);
    return x.hop == y.hop && x.bytes == y.bytes && x.queue == y.queue &&
           same(x.source, y.source, a, b) && same(x.destination, y.destination, a, b) &&
           std::equal(x_after.begin(), x_after.end(), y_after.begin(), y_after.end());
  };
  return std::equal(a.nodes().begin(), a.nodes().end(), b.nodes().begin(), b.nodes().end(), alike);
}

TEST(Structure, IsEqualForEqualShapes) {
  const Machine machine = fan_machine();
  for_random_shapes([&](const TransferShape& shape, int slots, const Program& program) {
    EXPECT_EQ(structure_of(program), structure_of(program_of(machine, shape, slots)));
  });
}

// Few paths, chunks and sizes, so that equal and nearly equal shapes are frequent.
TEST(Structure, IsEqualExactlyForEqualPrograms) {
  const Machine machine = fan_machine();
  Random random(11);
  const auto draw = [&] {
    TransferShape shape{Executor::stream, {}};
    if (random.chance(50)) shape.paths.push_back(carrying(0, {random.between(1, 2)}));
    for (const int path : {1, 2}) {
      if (random.chance(40)) continue;
      PathShape part{fan_path(path), {}};
      for (int left = random.integer(1, 3); left > 0; --left)
        part.chunks.push_back({random.between(1, 2)});
      shape.paths.push_back(part);
    }
    return program_of(machine, shape, random.integer(1, 3));
  };
  std::map<std::string, Program> known;
  int repeated = 0;

  for (int round = 0; round < 5000; ++round) {
    const Program program = draw();
    const auto [entry, is_new] = known.emplace(structure_of(program), program);
    ASSERT_TRUE(same(entry->second, program)) << entry->first;
    repeated += !is_new;
  }

  for (auto a = known.begin(); a != known.end(); ++a)
    for (auto b = std::next(a); b != known.end(); ++b)
      ASSERT_FALSE(same(a->second, b->second)) << a->first << " and " << b->first;
  EXPECT_GT(repeated, 0);
}

TEST(Structure, TellsAReductionFromAnotherAndFromACopy) {
  const auto with = [](Operation operation, const Reduction& reduction) {
    Program program;
    program.add(ProgramBuffer{{0}});
    program.add(ProgramBuffer{{0}});
    Node node;
    node.operation = operation, node.reduction = reduction;
    node.destination.buffer = 1, node.bytes = 8_B;
    program.add(node);
    return structure_of(program);
  };

  const std::string sum = with(Operation::reduce, {ReduceOperator::sum, ElementType::float32});

  EXPECT_NE(sum, with(Operation::copy, {}));
  EXPECT_NE(sum, with(Operation::reduce, {ReduceOperator::maximum, ElementType::float32}));
  EXPECT_NE(sum, with(Operation::reduce, {ReduceOperator::sum, ElementType::float64}));
  EXPECT_NE(with(Operation::reduce, {ReduceOperator::average, ElementType::float32, 2}),
            with(Operation::reduce, {ReduceOperator::average, ElementType::float32, 3}));
}

KernelCall call_of(const std::vector<Access>& memory) {
  return {.kernel = 0, .gpu = {0}, .memory = memory, .values = {3}, .duration = 1_us};
}

// Queue 1 of gpu0 and two buffers.
Program two_buffers() {
  Program program;
  program.add(ProgramBuffer{{0}});
  program.add(ProgramBuffer{{0}});
  program.add(Queue{{}, {0}});
  return program;
}

TEST(Structure, TellsAKernelFromEveryOther) {
  const auto with = [](auto change) {
    Program program = two_buffers();
    KernelCall call = call_of({{.slice = {0, {}}, .bytes = 8_B}, {.slice = {1, {}}, .bytes = 8_B}});
    change(call);
    program.add(call, 1, {});
    return structure_of(program);
  };

  const std::string same = with([](KernelCall&) {});

  EXPECT_EQ(same, with([](KernelCall& call) { call.duration = 2_us; }));  // it does the same
  EXPECT_NE(same, with([](KernelCall& call) { call.kernel = 1; }));
  EXPECT_NE(same, with([](KernelCall& call) { call.gpu = {1}; }));
  EXPECT_NE(same, with([](KernelCall& call) { call.values = {4}; }));
  EXPECT_NE(same, with([](KernelCall& call) { call.values = {}; }));
  EXPECT_NE(same, with([](KernelCall& call) { call.shape.blocks = 2; }));
  EXPECT_NE(same, with([](KernelCall& call) { call.shape.threads_per_block = 2; }));
  EXPECT_NE(same, with([](KernelCall& call) { call.memory[1].slice.buffer = 0; }));
  EXPECT_NE(same, with([](KernelCall& call) { call.memory[1].slice.offset = 8_B; }));
  EXPECT_NE(same, with([](KernelCall& call) { call.memory[1].bytes = 16_B; }));
  EXPECT_NE(same, with([](KernelCall& call) { call.memory[1].writes = true; }));
}

TEST(KernelNode, HasAllTheBytesThatItUsesAndItsGpu) {
  Program program = two_buffers();

  const int number = program.add(
      call_of({{.slice = {0, {}}, .bytes = 8_B}, {.slice = {1, {}}, .bytes = 24_B}}), 1, {});

  EXPECT_EQ(program.node(number).bytes, 32_B);
  EXPECT_EQ(working_gpu(hand_machine(), program, program.node(number)), PlaceId{0});
}

TEST(KernelNode, OfABufferThatIsNotThereIsRefused) {
  Program program = two_buffers();

  const auto add = [&] { program.add(call_of({{.slice = {2, {}}, .bytes = 8_B}}), 1, {}); };

  expect_error(ErrorCode::internal, add, "cannot be added");
}

TEST(KernelNode, FillsOrReadsTheScratchThatItUses) {
  Program program = two_buffers();
  const int filled = program.add(ProgramBuffer{{0}, {0}, 0});
  const int read = program.add(ProgramBuffer{{0}, {1}, 0});

  program.add(call_of({{.slice = {filled, {}}, .bytes = 8_B, .writes = true},
                       {.slice = {read, {}}, .bytes = 8_B}}),
              1, {});

  EXPECT_EQ(program.rings()[0].filler, 1);
  EXPECT_EQ(program.rings()[0].reader, -1);
  EXPECT_EQ(program.rings()[1].filler, -1);
  EXPECT_EQ(program.rings()[1].reader, 1);
}

}  // namespace
}  // namespace polypath::test::program_test
