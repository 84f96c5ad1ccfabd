// Ranks with flags between them: what each does, that no flag is too many, how ranks end that wait
// for others in vain, and what prediction says of it all.

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "collective/choose/choose.h"
#include "collective/choose/predicted_time.h"
#include "collective/support/rank_group.h"
#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "support/errors.h"

namespace polypath::test::rank_run_test {
namespace {

using testing::IsEmpty, testing::Not;

struct Case {
  Machine machine = load_machine("h200x4");
  CollectiveRequest request;
  std::vector<RankPart> parts;
};

Case divided(const char* algorithm, Collective collective, int ranks, std::uint64_t elements) {
  Case made;
  made.request = {
      .collective = collective, .ranks = first_gpus(made.machine, ranks), .elements = elements};
  made.parts =
      project(made.machine, build(find_algorithm(algorithm), made.machine, made.request, {}),
              made.request.ranks, RankMemorySizes{}.flags_per_pair);
  return made;
}

RankPrograms programs_of(const std::vector<RankPart>& parts, Executor executor) {
  RankPrograms programs;
  for (const RankPart& part : parts)
    programs.push_back(std::make_unique<RankProgram>(part, executor));
  return programs;
}

int count(const RankPart& part, Operation operation) {
  const auto& nodes = part.program.nodes();
  return static_cast<int>(std::count_if(
      nodes.begin(), nodes.end(), [&](const Node& node) { return node.operation == operation; }));
}

// Each of four ranks enters at the three others, awaits their entries before it writes to them,
// says that it has, and awaits that of them: 6 signals, 6 awaits; and copies 4 parts.
TEST(Projection, OfAnAllGatherHasTwoFlagsForEachPair) {
  const Case all = divided("exchange", Collective::all_gather, 4, 100);

  for (const RankPart& part : all.parts) {
    EXPECT_EQ(count(part, Operation::copy), 4);
    EXPECT_EQ(count(part, Operation::signal), 6);
    EXPECT_EQ(count(part, Operation::await), 6);
    EXPECT_EQ(part.flags_per_pair, 2);
  }
}

// Words are used again: 64 pieces need hardly more than 8 do.
TEST(Projection, NeedsNoMoreFlagsForMorePieces) {
  const auto flags = [](std::uint64_t elements) {
    return divided("flat", Collective::all_reduce, 4, elements).parts.front().flags_per_pair;
  };

  EXPECT_LE(flags(std::uint64_t{64} << 20), flags(std::uint64_t{8} << 20) + 8);
}

TEST(Projection, SaysWhenFlagsAreTooFew) {
  const Machine machine = load_machine("h200x4");
  const CollectiveRequest request{.ranks = first_gpus(machine, 4), .elements = 100};
  const Program program = build(find_algorithm("flat"), machine, request, {});

  expect_error(
      ErrorCode::unsupported, [&] { (void)project(machine, program, request.ranks, 1); },
      "cannot be divided", "1 are kept");
}

/// A flag, by the buffer and the place in it.
using Flag = std::pair<int, Bytes>;

std::set<Flag> flags_of(const std::vector<RankPart>& parts) {
  std::set<Flag> flags;
  for (const RankPart& part : parts)
    for (const Node& node : part.program.nodes())
      if (is_flag(node.operation)) flags.insert({node.destination.buffer, node.destination.offset});
  return flags;
}

// The same program, in which that flag is neither set nor awaited.
RankPart without(const RankPart& part, const Flag& flag) {
  RankPart made;
  made.first_flags = part.first_flags, made.first_mailbox = part.first_mailbox;
  made.scratch = part.scratch;
  for (const ProgramBuffer& buffer : part.program.buffers()) made.program.add(buffer);
  for (std::size_t i = 1; i < part.program.queues().size(); ++i)
    made.program.add(part.program.queues()[i]);
  std::vector<int> number;
  for (const Node& node : part.program.nodes()) {
    const bool left_out =
        is_flag(node.operation) && Flag{node.destination.buffer, node.destination.offset} == flag;
    std::vector<int> after;
    for (const int earlier : part.program.after(node))
      if (number[static_cast<std::size_t>(earlier)] >= 0)
        after.push_back(number[static_cast<std::size_t>(earlier)]);
    Node copy = node;
    copy.event = -1, copy.awaited = false;
    if (node.operation == Operation::kernel)
      number.push_back(made.program.add(part.program.call_of(node), node.queue, after));
    else number.push_back(left_out ? -1 : made.program.add(copy, after));
  }
  made.program.assign_events();
  return made;
}

// Each rank does it, looks at its output in its stream, and does it again. A rank that waits for
// ever is wrong as well.
std::vector<std::string> found_wrong(const Case& all, const std::vector<RankPart>& parts) {
  RankGroup group(all.machine, all.request.ranks);
  const RankPrograms programs = programs_of(parts, Executor::stream);
  group.prepare(programs);
  RankBuffers buffers(group.driver(), all.request), seen(group.driver(), all.request);
  buffers.fill();
  const auto outputs = all.request.ranks.size();
  for (int run = 0; run < 2; ++run)
    for (int rank = 0; rank < group.size(); ++rank) {
      group.enqueue(rank, programs, buffers.addresses());
      const std::size_t output = outputs + static_cast<std::size_t>(rank);
      const PlaceId gpu = all.request.ranks[static_cast<std::size_t>(rank)];
      group.driver().copy({.destination = seen.addresses()[output],
                           .destination_place = gpu,
                           .source = buffers.addresses()[output],
                           .source_place = gpu,
                           .bytes = output_bytes(all.request, rank)},
                          group.stream_of(rank));
    }
  try {
    group.synchronize();
  } catch (const Error& hang) {
    return {hang.what()};
  }
  return group.driver().violations();
}

TEST(Flags, OfAnAllGatherAreAllNeeded) {
  const Case all = divided("exchange", Collective::all_gather, 3, 100);
  ASSERT_THAT(found_wrong(all, all.parts), IsEmpty());

  for (const Flag& flag : flags_of(all.parts)) {
    std::vector<RankPart> parts;
    for (const RankPart& part : all.parts) parts.push_back(without(part, flag));
    EXPECT_THAT(found_wrong(all, parts), Not(IsEmpty()))
        << "flag " << flag.second.value << " of buffer " << flag.first;
  }
}

// An entry may follow from what else is awaited; no flag between nodes does.
TEST(Flags, BetweenNodesOfAnAllReduceAreAllNeeded) {
  const Case all = divided("flat", Collective::all_reduce, 3, 999);
  ASSERT_THAT(found_wrong(all, all.parts), IsEmpty());
  const Bytes per_producer = kFlagBytes * std::uint64_t{RankMemorySizes{}.flags_per_pair};

  for (const Flag& flag : flags_of(all.parts)) {
    if (flag.second.value % per_producer.value == 0) continue;
    std::vector<RankPart> parts;
    for (const RankPart& part : all.parts) parts.push_back(without(part, flag));
    EXPECT_THAT(found_wrong(all, parts), Not(IsEmpty()))
        << "flag " << flag.second.value << " of buffer " << flag.first;
  }
}

class Released : public testing::TestWithParam<Executor> {};

TEST_P(Released, RanksEndThatWaitForOthersInVain) {
  const Case all = divided("ring", Collective::all_reduce, 3, 100'000);
  RankGroup group(all.machine, all.request.ranks);
  const RankPrograms programs = programs_of(all.parts, GetParam());
  group.prepare(programs);
  RankBuffers buffers(group.driver(), all.request);
  group.enqueue(0, programs, buffers.addresses());
  group.enqueue(0, programs, buffers.addresses());
  expect_error(
      ErrorCode::driver, [&] { group.driver().synchronize(group.stream_of(0)); }, "never finishes",
      "flag that is never written");

  EXPECT_TRUE(group.run_of(0).release(Seconds{1}));

  group.driver().synchronize(group.stream_of(0));
}
INSTANTIATE_TEST_SUITE_P(By, Released, testing::Values(Executor::stream, Executor::graph));

// Whichever call fails, what was put into streams before it ends.
TEST(RankRun, EndsWhatItHadEnqueuedWhenACallFails) {
  const Case all = divided("ring", Collective::all_reduce, 3, 1000);
  const RankPrograms programs = programs_of(all.parts, Executor::stream);
  for (const sim::Call call : {sim::Call::write_value, sim::Call::wait_value, sim::Call::copy,
                               sim::Call::reduce, sim::Call::record, sim::Call::wait})
    for (int nth = 1; nth <= 2; ++nth) {
      SCOPED_TRACE(testing::Message() << name_of(call) << " " << nth);
      RankGroup group(all.machine, all.request.ranks);
      group.prepare(programs);
      RankBuffers buffers(group.driver(), all.request);
      group.driver().fail_nth(call, nth);

      EXPECT_THROW(group.enqueue(0, programs, buffers.addresses()), Error);

      group.driver().clear_faults();
      group.driver().synchronize(group.stream_of(0));
    }
}

// Without events nothing says when it has.
TEST(RankRun, EndsWhatItHadEnqueuedWhereNothingCanBeRecorded) {
  const Case all = divided("ring", Collective::all_reduce, 3, 1000);
  const RankPrograms programs = programs_of(all.parts, Executor::stream);
  for (const int nth : {1, 2, 3}) {
    SCOPED_TRACE(nth);
    RankGroup group(all.machine, all.request.ranks);
    group.prepare(programs);
    RankBuffers buffers(group.driver(), all.request);
    group.driver().fail_from(sim::Call::record, nth);

    EXPECT_THROW(group.enqueue(0, programs, buffers.addresses()), Error);

    EXPECT_EQ(group.told(), 1);
    group.driver().clear_faults();
    EXPECT_NO_THROW(group.driver().synchronize(group.stream_of(0)));
  }
}

class InTwoStreams : public testing::TestWithParam<std::tuple<Executor, const char*>> {};

// Calls of two programs, in one stream and another one in turn, without anything that puts the
// streams in order, by ranks of which some are late: the calls share flags and slots, and each is
// after the one before.
TEST_P(InTwoStreams, CallsOfOneRankAreInOrder) {
  const auto [executor, algorithm] = GetParam();
  constexpr std::size_t kCalls = 6;
  const Case kinds[] = {divided(algorithm, Collective::all_reduce, 3, 30'000),
                        divided(algorithm, Collective::all_reduce, 3, 10'001)};
  const std::vector<PlaceId>& gpus = kinds[0].request.ranks;
  RankGroup group(kinds[0].machine, gpus);
  sim::SimDriver& driver = group.driver();
  const RankPrograms programs[] = {programs_of(kinds[0].parts, executor),
                                   programs_of(kinds[1].parts, executor)};
  for (const RankPrograms& each : programs) group.prepare(each);
  std::vector<std::unique_ptr<RankBuffers>> buffers;
  for (std::size_t call = 0; call < kCalls; ++call) {
    buffers.push_back(std::make_unique<RankBuffers>(driver, kinds[call % 2].request));
    buffers.back()->fill();
  }

  std::vector<StreamHandle> others;
  for (int rank = 0; rank < group.size(); ++rank) {
    const auto number = static_cast<std::size_t>(rank);
    others.push_back(driver.create_stream(gpus[number]));
    driver.use_host_thread(number);
    driver.pass_time(Seconds{rank * 1e-4});
    for (std::size_t call = 0; call < kCalls; ++call)
      group.run_of(rank).run(*programs[call % 2][number], buffers[call]->addresses(),
                             call % 2 == 0 ? group.stream_of(rank) : others.back());
  }
  group.synchronize();
  for (const StreamHandle stream : others) driver.synchronize(stream);

  for (const auto& each : buffers) EXPECT_TRUE(each->right());
  EXPECT_EQ(group.flags_set(), 0);
  for (const StreamHandle stream : others) driver.destroy_stream(stream);
  buffers.clear();
  EXPECT_THAT(group.close(), IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(RankRun, InTwoStreams,
                         testing::Combine(testing::Values(Executor::stream, Executor::graph),
                                          testing::Values("ring", "flat", "twoshot")),
                         [](const auto& info) {
                           return std::string(std::get<1>(info.param)) + "_by_" +
                                  name_of(std::get<0>(info.param));
                         });

// What is captured becomes nodes of the graph that captures it.
TEST(RankRun, LaunchesNoGraphInACapture) {
  const Case all = divided("ring", Collective::all_reduce, 3, 1000);
  const RankPrograms programs = programs_of(all.parts, Executor::graph);
  RankGroup group(all.machine, all.request.ranks);
  group.prepare(programs);
  RankBuffers buffers(group.driver(), all.request);
  buffers.fill();
  group.driver().fail_nth(sim::Call::launch, 1);

  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    RankRun& run = group.run_of(static_cast<int>(rank));
    const StreamHandle stream = group.stream_of(static_cast<int>(rank));
    EXPECT_NO_THROW(run.run(run.bind(*programs[rank], buffers.addresses()), stream, true));
  }
  group.synchronize();

  EXPECT_TRUE(buffers.right());
}

// All ranks call at the same time; predicted and simulated times differ by less than 5 %.
TEST(Prediction, OfRanksIsWhatTheSimulatorSays) {
  for (const char* machine_name : {"h200x4", "beluga"})
    for (const Executor executor : {Executor::stream, Executor::graph}) {
      const Machine machine = load_machine(machine_name);
      const CollectiveRequest request{.collective = Collective::all_gather,
                                      .ranks = first_gpus(machine, 4),
                                      .elements = 1 << 20};
      const Program program = build(find_algorithm("exchange"), machine, request, {});
      HopRates rates(machine);
      const auto parts = project(machine, program, request.ranks, RankMemorySizes{}.flags_per_pair);
      RankGroup group(machine, request.ranks, sim::kTimingOnly);
      const RankPrograms programs = programs_of(parts, executor);
      group.prepare(programs);
      RankBuffers buffers(group.driver(), request);
      for (int rank = 0; rank < group.size(); ++rank)
        group.enqueue(rank, programs, buffers.addresses());
      group.synchronize();
      group.driver().align_host_threads();
      const Seconds start = group.driver().now();

      for (int rank = 0; rank < group.size(); ++rank)
        group.enqueue(rank, programs, buffers.addresses());
      const Seconds simulated = group.synchronize() - start;

      const Seconds predicted = predicted_time(machine, rates, parts, request.ranks, executor);
      EXPECT_NEAR(predicted / simulated, 1, 0.05) << machine_name << " " << name_of(executor);
    }
}

}  // namespace
}  // namespace polypath::test::rank_run_test
