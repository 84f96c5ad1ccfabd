// A program takes as long on the simulated driver as the timeline says beforehand, and runs again
// in the same scratch memory, on the same stream and on another one.

#include <gmock/gmock.h>

#include "collective/choose/predicted_time.h"
#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "support/hand_machine.h"

namespace polypath::test::timing_test {
namespace {

CollectiveRequest all_reduce_of(const Machine& machine, int ranks, Bytes message) {
  return with_message(
      {.collective = Collective::all_reduce, .ranks = first_gpus(machine, ranks), .elements = 1},
      message);
}

TEST(CollectiveTime, IsAsPredicted) {
  for (const char* name : {"cedar", "mist", "h200x4"}) {
    const Machine machine = load_machine(name);
    HopRates rates(machine);
    for (const Algorithm& algorithm : algorithms())
      for (const Executor executor : {Executor::stream, Executor::graph}) {
        CollectiveRequest request = all_reduce_of(machine, 4, 2_MiB);
        request.collective = algorithm.collectives.front();
        request.in_place = request.collective != Collective::all_to_all;
        if (!algorithm.does(machine, request)) continue;
        const CollectiveProgram program(build(algorithm, machine, request, {.piece = 256_KiB}),
                                        executor);
        Ranks ranks(machine, request);
        ranks.run(program);  // instantiates

        const Seconds taken = ranks.run(program);

        const Seconds predicted =
            predicted_time(machine, rates, program.program, executor, ranks.gpu());
        EXPECT_NEAR(predicted / taken, 1, 0.05)
            << name << " " << algorithm.name << " " << name_of(executor);
      }
  }
}

// By hand: two GPUs, 0.8 GB/s = 800 bytes per microsecond each way, α = 10 us. Each sends half of
// 16 MB, adds it up (3 us and 8 MB at 1600 GB/s = 5 us), and sends the sum: 2 · 10000 us of flow
// and a few tens of calls and latencies.
TEST(CollectiveTime, OfTwoRanksIsTwiceHalfTheMessage) {
  const Machine machine = hand_machine();
  const CollectiveRequest request = all_reduce_of(machine, 2, {16'000'000});
  HopRates rates(machine);

  const Program program = build(find_algorithm("flat"), machine, request, {.piece = 8_MiB});

  const Seconds predicted = predicted_time(machine, rates, program, Executor::stream, {0});
  EXPECT_GT(predicted, 20'000_us);
  EXPECT_LT(predicted, 20'100_us);
}

// Programs keep their scratch memory to themselves: that of one comes after all of the one before.
TEST(CollectiveRun, OrdersProgramsOfBothExecutorsOnDifferentStreams) {
  const Machine machine = load_machine("cedar");
  const CollectiveRequest request = all_reduce_of(machine, 4, 1_MiB);
  const auto program = [&](Executor executor) {
    return CollectiveProgram(build(find_algorithm("flat"), machine, request, {.piece = 64_KiB}),
                             executor);
  };
  const CollectiveProgram by_streams = program(Executor::stream),
                          as_graph = program(Executor::graph);
  Ranks ranks(machine, request);
  const StreamHandle other = ranks.driver().create_stream(ranks.gpu());

  for (const CollectiveProgram* each : {&by_streams, &as_graph, &as_graph, &by_streams}) {
    ranks.runner().run(*each, ranks.buffers(), ranks.stream(), ranks.gpu());
    ranks.runner().run(*each, ranks.buffers(), other, ranks.gpu());
  }
  ranks.driver().synchronize(other);

  EXPECT_THAT(ranks.driver().violations(), testing::IsEmpty());
  ranks.driver().destroy_stream(other);
  EXPECT_THAT(ranks.close(), testing::IsEmpty());
}

// A graph puts nothing into the hops' own streams that waiting for them would wait for.
TEST(CollectiveRun, KeepsScratchMemoryThatItCannotWaitFor) {
  const Machine machine = load_machine("cedar");
  const CollectiveRequest request = all_reduce_of(machine, 4, 1_MiB);
  const CollectiveProgram program(
      build(find_algorithm("flat"), machine, request, {.piece = 64_KiB}), Executor::graph);
  Ranks ranks(machine, request);
  ranks.runner().run(program, ranks.buffers(), ranks.stream(), ranks.gpu());
  ranks.driver().fail_nth(sim::Call::synchronize, 1);

  const std::vector<std::string> wrong = ranks.close();

  const auto is_of_ranks = testing::StartsWith("use after free: 1 MiB");
  const auto is_leaked = testing::StartsWith("leaked: ");
  EXPECT_THAT(wrong, testing::Each(testing::AnyOf(is_of_ranks, is_leaked)));
  EXPECT_THAT(wrong, testing::Contains(is_leaked));
}

TEST(CollectiveRun, LeavesNothingBehindWhenACallFails) {
  const Machine machine = load_machine("cedar");
  const CollectiveRequest request = all_reduce_of(machine, 3, 64_KiB);
  const CollectiveProgram program(build(find_algorithm("ring"), machine, request, {.piece = 4_KiB}),
                                  Executor::stream);
  for (const sim::Call call : {sim::Call::copy, sim::Call::reduce, sim::Call::wait}) {
    Ranks ranks(machine, request);
    ranks.run(program);
    ranks.driver().fail_nth(call, 5);
    EXPECT_THROW(ranks.run(program), Error);
    ranks.driver().clear_faults();

    ranks.run(program);

    EXPECT_TRUE(ranks.right());
    EXPECT_THAT(ranks.close(), testing::IsEmpty());
  }
}

}  // namespace
}  // namespace polypath::test::timing_test
