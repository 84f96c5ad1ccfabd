// Predicted times: by hand on the hand machine, and against the recursion and the timeline
// anywhere.

#include "model/predict.h"

#include <gmock/gmock.h>

#include <iostream>

#include "machine/load_machine.h"
#include "model/chunks.h"
#include "model/close.h"
#include "model/issue.h"
#include "model/paper_times.h"
#include "model/paths.h"
#include "model/pipeline.h"
#include "model/share_problem.h"
#include "support/random.h"

namespace polypath::test::predict_test {
namespace {

using testing::SizeIs;

constexpr int kSlots = 4;

std::vector<Prediction> predict(const Predictor& predictor,
                                const std::vector<TransferShape>& transfers) {
  return predictor.predict(transfers, kSlots);
}

std::vector<Prediction> replay(const Predictor& predictor,
                               const std::vector<TransferShape>& transfers) {
  return predictor.replay(transfers, kSlots);
}

// --- by hand ---

// Issued at 1, 10 + 8000/800 on the way: 21. The thread knows 4 later.
TEST(Predict, OneCopy) {
  const Machine machine = hand_machine();
  const TransferShape transfer{Executor::native, {shape_over(machine, "direct", 8000_B)}};

  const Prediction prediction = Predictor(machine).predict(transfer, kSlots);

  ASSERT_THAT(prediction.path_finish, SizeIs(1));
  EXPECT_TRUE(close(prediction.path_finish[0], 21_us));
  EXPECT_TRUE(close(prediction.time, 25_us));
  EXPECT_TRUE(close(prediction.call, 1_us));
  EXPECT_FALSE(prediction.contended);
}

// Issue: fork 2, direct copy 3; wait 6, first copy 7, record 9; wait 12, second copy 13; first copy
// 14, record 16; wait 19, second copy 20; record 22, two waits 28.
// Direct: 3 + 10 + 10 = 23. Host: f = 7 + 12 = 19, s = max(13, 19 + 7) + 12 = 38; f = 19 + 12 = 31,
// s = max(38, 31 + 7) + 12 = 50; the caller's stream learns of it ε = 7 later, the thread
// another 4.
TEST(Predict, TwoPathsThatShareNothing) {
  const Machine machine = hand_machine();
  const TransferShape transfer{
      Executor::stream,
      {shape_over(machine, "direct", 8000_B), shape_over(machine, "host0", 1000_B, 2)}};

  const Prediction prediction = Predictor(machine).predict(transfer, kSlots);

  ASSERT_THAT(prediction.path_finish, SizeIs(2));
  EXPECT_TRUE(close(prediction.path_finish[0], 23_us));
  EXPECT_TRUE(close(prediction.path_finish[1], 57_us));
  EXPECT_TRUE(close(prediction.time, 61_us));
  EXPECT_TRUE(close(prediction.call, 28_us));
  EXPECT_FALSE(prediction.contended);
}

// Graph: wait 3, launch 8; direct 9, first copies 10 and 12, second 11 and 13; record and wait 18.
// Direct: 9 + 20 = 29. Host: f = 22, s = 29 + 12 = 41; f = 34, s = max(41, 41) + 12 = 53; 53 + 7.
TEST(Predict, TheSameAsAGraph) {
  const Machine machine = hand_machine();
  const TransferShape transfer{
      Executor::graph,
      {shape_over(machine, "direct", 8000_B), shape_over(machine, "host0", 1000_B, 2)}};

  const Prediction prediction = Predictor(machine).predict(transfer, kSlots);

  EXPECT_TRUE(close(prediction.path_finish[0], 29_us));
  EXPECT_TRUE(close(prediction.path_finish[1], 60_us));
  EXPECT_TRUE(close(prediction.time, 64_us));
  EXPECT_TRUE(close(prediction.call, 18_us));
}

// Waits of 100 us outlast every copy. Two chunks: a fork, per chunk 2 copies, 1 record and 1 wait,
// one more wait for the fork, and at the end 1 record and 2 waits: 5 waits, 4 copies, 4 records.
TEST(Predict, ACallThatOutlastsItsCopiesIsTheTime) {
  Machine machine = hand_machine();
  machine.costs.event_wait = 100_us;
  machine.costs.copy = machine.costs.event_record = 1_us;
  const TransferShape transfer{Executor::stream, {shape_over(machine, "host0", 1000_B, 2)}};

  const Prediction prediction = Predictor(machine).predict(transfer, kSlots);

  EXPECT_TRUE(close(prediction.call, 508_us));
  EXPECT_TRUE(close(prediction.time, 512_us));
}

// Two calls of two threads, both issued at 1; from 11 on the copies have 0.5 of the ingress each:
// 11 + 5000/500 = 21, and 4.
TEST(Predict, TransfersThatContendAreReplayed) {
  const Machine machine = hand_machine();
  const Predictor predictor(machine);
  const TransferShape transfer{Executor::native, {shape_over(machine, "direct", 5000_B)}};
  const std::vector<TransferShape> both{transfer, transfer};

  const auto quick = predict(predictor, both);
  const auto exact = replay(predictor, both);
  const auto well = predictor.predict_well(both, kSlots);

  ASSERT_THAT(exact, SizeIs(2));
  for (std::size_t t = 0; t < 2; ++t) {
    EXPECT_TRUE(quick[t].contended);
    EXPECT_TRUE(close(exact[t].path_finish[0], 21_us));
    EXPECT_TRUE(close(exact[t].time, 25_us));
    EXPECT_EQ(well[t].time, exact[t].time);
  }
}

// The engine takes the second path's copy after the first one's: two host copies into gpu1, from 1
// on 10 + 5000/500 = 20 each, end at 21 and 41.
TEST(Predict, CopiesThatShareASerialEngineQueue) {
  const Machine machine = hand_machine();
  const Predictor predictor(machine);
  const TransferShape transfer{Executor::native,
                               {{path_over(machine, "direct", "host0", "gpu1"), {5000_B}}}};

  const auto exact = replay(predictor, {transfer, transfer});

  EXPECT_TRUE(predict(predictor, {transfer, transfer})[0].contended);
  EXPECT_TRUE(close(exact[0].path_finish[0], 21_us));
  EXPECT_TRUE(close(exact[1].path_finish[0], 41_us));
}

// As above, but the second call is made at 30: issued at 31, ready at once as the engine is free,
// 31
// + 10 + 5000/500. Both are known 4 later.
TEST(Predict, ACallMayBeMadeLater) {
  const Machine machine = hand_machine();
  const Predictor predictor(machine);
  const TransferShape transfer{Executor::native,
                               {{path_over(machine, "direct", "host0", "gpu1"), {5000_B}}}};
  const std::vector<TransferShape> both{transfer, transfer};
  const std::vector<Seconds> starts{0_us, 30_us};

  const auto exact = predictor.replay(both, kSlots, starts);

  EXPECT_TRUE(close(exact[0].path_finish[0], 21_us));
  EXPECT_TRUE(close(exact[1].call, 31_us));
  EXPECT_TRUE(close(exact[1].time, 55_us));
}

TEST(Predict, ATransferCarriesAllChunksOfAllPaths) {
  const Machine machine = hand_machine();

  const TransferShape transfer{
      Executor::stream,
      {shape_over(machine, "direct", 8000_B), shape_over(machine, "host0", 1000_B, 2)}};

  EXPECT_EQ(transfer.total(), 10000_B);
  EXPECT_EQ(TransferShape{}.total(), 0_B);
}

TEST(Predict, ExecutorsHaveNames) {
  EXPECT_STREQ(name_of(Executor::native), "native");
  EXPECT_STREQ(name_of(Executor::stream), "stream");
  EXPECT_STREQ(name_of(Executor::graph), "graph");
}

// --- any machine ---

// All paths between the first two GPUs whose hops are copies and not the driver's own staging.
std::vector<Path> paths_of(const Machine& machine) {
  std::vector<Path> paths{path_over(machine, "direct")};
  for (const Place& place : machine.places) {
    if (place.name == "gpu0" || place.name == "gpu1") continue;
    const PlaceId via = machine.find_place(place.name);
    const auto first = machine.find_hop(machine.find_place("gpu0"), via);
    const auto second = machine.find_hop(via, machine.find_place("gpu1"));
    if (first && second && machine.hop(*first).kind != HopKind::driver_staged &&
        machine.hop(*second).kind != HopKind::driver_staged)
      paths.push_back({*first, *second});
  }
  return paths;
}

std::vector<Machine> machines() {
  std::vector<Machine> machines{hand_machine()};
  for (const std::string& name : zoo_names()) machines.push_back(load_machine(name));
  for (std::uint64_t seed = 0; seed < 20; ++seed) machines.push_back(synthetic_machine(seed));
  return machines;
}

// When each path ends by the equations alone: eq. 1, or the recursion of pipeline.h.
std::vector<Seconds> finish_alone(const Machine& machine, const TransferShape& transfer) {
  const Program program = program_of(machine, transfer, kSlots);
  const IssueTimes issue = issue_times(machine, program, transfer.executor);
  std::vector<std::vector<Seconds>> first(transfer.paths.size()), second(first);
  for (std::size_t n = 0; n < issue.nodes.size(); ++n) {
    const Node& node = program.nodes()[n];
    auto& times = node.source.buffer == kSourceBuffer ? first : second;
    times[static_cast<std::size_t>(node.path)].push_back(issue.nodes[n]);
  }
  std::vector<Seconds> finish;
  for (std::size_t p = 0; p < transfer.paths.size(); ++p) {
    const Path& path = transfer.paths[p].path;
    const std::vector<Bytes>& chunks = transfer.paths[p].chunks;
    const HockneyPath hockney = hockney_path(machine, path);
    if (!path.staged()) {
      finish.push_back(first[p][0] + unpipelined_time(hockney, chunks[0]));
      continue;
    }
    const Seconds arrival = machine.place(machine.hop(path.second).destination).staging_latency;
    StagedPipeline pipeline(hockney.first, *hockney.second, hockney.staging, arrival, kSlots);
    Seconds last;
    for (std::size_t j = 0; j < chunks.size(); ++j)
      last = pipeline.add(chunks[j], first[p][j], second[p][j]);
    finish.push_back(last + arrival);
  }
  return finish;
}

// Some of the paths with chunks of any sizes.
TransferShape random_transfer(const Machine& machine, Random& random) {
  TransferShape transfer;
  transfer.executor = random.chance(50) ? Executor::stream : Executor::graph;
  for (const Path& path : paths_of(machine)) {
    if (random.chance(50) && !transfer.paths.empty()) continue;
    PathShape shape{path, {}};
    for (int j = path.staged() ? random.integer(1, 12) : 1; j > 0; --j)
      shape.chunks.push_back({random.between(1, 16 << 20)});
    transfer.paths.push_back(shape);
  }
  return transfer;
}

TEST(Predict, WithoutContentionIsTheRecursionAndTheReplay) {
  int compared = 0;
  for (const Machine& machine : machines()) {
    const Predictor predictor(machine);
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(testing::Message() << machine.name << ", seed " << seed);
      Random random(seed);
      const TransferShape transfer = random_transfer(machine, random);

      const Prediction quick = predict(predictor, {transfer})[0];
      const Prediction exact = replay(predictor, {transfer})[0];

      if (quick.contended) continue;
      ++compared;
      const auto alone = finish_alone(machine, transfer);
      EXPECT_TRUE(close(quick.time, exact.time));
      EXPECT_EQ(quick.call, exact.call);
      for (std::size_t p = 0; p < alone.size(); ++p) {
        EXPECT_TRUE(close(quick.path_finish[p], alone[p])) << "path " << p;
        EXPECT_TRUE(close(exact.path_finish[p], alone[p])) << "path " << p;
      }
    }
  }
  EXPECT_GT(compared, 200);
}

// A sensible transfer over all paths: shares of the share program, chunks of the closed form.
TransferShape balanced_transfer(const Predictor& predictor, Bytes bytes, Executor executor) {
  const Machine& machine = predictor.machine();
  const std::vector<Path> paths = paths_of(machine);
  std::vector<SharedPath> problem;
  for (const Path& path : paths) {
    const HockneyPath hockney = hockney_path(machine, path);
    const Seconds start = unpipelined_time(hockney, 1_B);
    problem.push_back({{1 / predictor.resources().own_rate(path).value, start},
                       predictor.resources().claims(path)});
  }
  const auto solution = solve_shares(problem, predictor.resources().capacities(), bytes, 256_KiB);
  TransferShape transfer{executor, {}};
  for (std::size_t p = 0; p < paths.size(); ++p) {
    const Bytes part{static_cast<std::uint64_t>(solution.shares[p] * bytes.real())};
    if (part == 0_B) continue;
    const HockneyPath hockney = hockney_path(machine, paths[p]);
    const double count = exact_chunk_count(hockney, part, 5_us);
    transfer.paths.push_back({paths[p], {part}});
    if (paths[p].staged())
      transfer.paths.back().chunks = chunk_sizes(hockney, part, count, 0, {64_KiB, 8_MiB});
  }
  return transfer;
}

TEST(Predict, WithContentionIsWithinTenPerCentOfTheReplay) {
  int compared = 0;
  double largest = 0;
  for (const std::string& name : zoo_names()) {
    const Machine machine = load_machine(name);
    const Predictor predictor(machine);
    for (const Executor executor : {Executor::stream, Executor::graph})
      for (const Bytes bytes : {8_MiB, 32_MiB, 128_MiB, 512_MiB}) {
        const TransferShape transfer = balanced_transfer(predictor, bytes, executor);

        const Prediction quick = predict(predictor, {transfer})[0];
        const Prediction exact = replay(predictor, {transfer})[0];

        if (!quick.contended) continue;
        ++compared;
        largest = std::max(largest, std::abs(quick.time / exact.time - 1));
        EXPECT_TRUE(close(quick.time, exact.time, 0.1))
            << name << ", " << bytes.value << " bytes, " << name_of(executor);
      }
  }
  EXPECT_GT(compared, 10);
  std::cout << compared << " contended transfers, at most " << 100 * largest << " % off\n";
}

// In no case does a path end before it would alone, or anything before the call.
TEST(Predict, ContentionOnlyDelays) {
  for (const Machine& machine : machines()) {
    const Predictor predictor(machine);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(testing::Message() << machine.name << ", seed " << seed);
      Random random(seed);
      const std::vector<TransferShape> transfers{random_transfer(machine, random),
                                                 random_transfer(machine, random)};

      const auto exact = replay(predictor, transfers);

      for (std::size_t t = 0; t < transfers.size(); ++t) {
        const auto alone = finish_alone(machine, transfers[t]);
        for (std::size_t p = 0; p < alone.size(); ++p) {
          EXPECT_GE(exact[t].path_finish[p].value, alone[p].value * (1 - 1e-9));
          EXPECT_GE(exact[t].time, exact[t].path_finish[p]);
        }
        EXPECT_GE(exact[t].time, exact[t].call);
      }
    }
  }
}

}  // namespace
}  // namespace polypath::test::predict_test
