// A program that no transfer is: two GPUs add up what they have, and both get the sum. Each
// executor runs it on the simulated driver, which checks every access; the timeline says beforehand
// when it ends.
//
//   gpu1's values ── copy ──▶ scratch of gpu0 ── reduce ──▶ gpu0's values ── copy ──▶ gpu1's values
//
// in kPieces pieces through two slots.

#include <gmock/gmock.h>

#include <array>
#include <cstring>

#include "driver/sim/sim_driver.h"
#include "engine/execute/graph_executor.h"
#include "engine/execute/stream_executor.h"
#include "model/timeline.h"
#include "support/hand_machine.h"

namespace polypath::test::program_test {
namespace {

using testing::Each;
using testing::IsEmpty;

constexpr int kPieces = 5, kSlots = 2;
constexpr std::size_t kElements = 4096;  // of a piece
constexpr Bytes kPiece{kElements * sizeof(float)};

// The nodes of one piece; `waits_for_copy` false leaves out that the reduction comes after it.
class SumBuilder {
 public:
  explicit SumBuilder(const Machine& machine, bool waits_for_copy = true)
      : to_gpu0_(*machine.find_hop({1}, {0})),
        to_gpu1_(*machine.find_hop({0}, {1})),
        waits_for_copy_(waits_for_copy) {
    values_ = {program_.add(ProgramBuffer{{0}}), program_.add(ProgramBuffer{{1}})};
    for (int slot = 0; slot < kSlots; ++slot)
      slots_[static_cast<std::size_t>(slot)] = program_.add(ProgramBuffer{{0}, to_gpu0_, slot});
    incoming_ = program_.add(queue_of(machine, to_gpu0_));
    reducing_ = program_.add(Queue{{}, {0}});
    outgoing_ = program_.add(queue_of(machine, to_gpu1_));
  }

  Program build() {
    for (int piece = 0; piece < kPieces; ++piece) add(piece);
    program_.assign_events();
    return std::move(program_);
  }

 private:
  void add(int piece) {
    const Bytes offset = kPiece * static_cast<std::uint64_t>(piece);
    const Slice slot{slots_[static_cast<std::size_t>(piece % kSlots)], {}};
    std::vector<int> slot_is_free;
    if (piece >= kSlots) slot_is_free = {reductions_[static_cast<std::size_t>(piece - kSlots)]};
    const int arrived =
        program_.add(node(to_gpu0_, {values_[1], offset}, slot, incoming_, piece), slot_is_free);
    Node sum = node({}, slot, {values_[0], offset}, reducing_, piece);
    sum.operation = Operation::reduce;
    std::vector<int> needed;
    if (waits_for_copy_) needed = {arrived};
    reductions_.push_back(program_.add(sum, needed));
    program_.add(node(to_gpu1_, {values_[0], offset}, {values_[1], offset}, outgoing_, piece),
                 {reductions_.back()});
  }

  static Node node(HopId hop, Slice source, Slice destination, int queue, int piece) {
    Node made;
    made.hop = hop, made.source = source, made.destination = destination;
    made.bytes = kPiece, made.queue = queue, made.chunk = piece;
    return made;
  }

  HopId to_gpu0_, to_gpu1_;
  bool waits_for_copy_;
  Program program_;
  std::array<int, 2> values_{};
  std::array<int, kSlots> slots_{};
  int incoming_ = 0, reducing_ = 0, outgoing_ = 0;
  std::vector<int> reductions_;
};

Settings settings() {
  Settings settings;
  settings.staging_slot = kPiece;
  settings.staging_slots = kSlots;
  return settings;
}

// The two GPUs' values, and the program bound to them.
class SumOfTwo {
 public:
  explicit SumOfTwo(bool waits_for_copy = true)
      : program_(SumBuilder(machine_, waits_for_copy).build()),
        structure_(structure_of(program_)),
        driver_(machine_, {.record_trace = true}),
        hops_(driver_, machine_, settings()) {
    for (std::int32_t gpu = 0; gpu < 2; ++gpu)
      values_[static_cast<std::size_t>(gpu)] =
          driver_.allocate({gpu}, kPiece * std::uint64_t{kPieces});
    stream_ = driver_.create_stream({0});
  }

  // Runs it with new values; returns how long it took on the driver's clock.
  template <class Runner>
  Seconds run(Runner& executor, float first, float second) {
    fill(0, first), fill(1, second);
    const Transfer transfer{&program_, structure_, values_, stream_, {0}, 7};
    executor.prepare(transfer);
    const Seconds start = driver_.now();
    executor.run(transfer);
    driver_.synchronize(stream_);
    return driver_.now() - start;
  }

  [[nodiscard]] std::vector<float> values(std::size_t gpu) const {
    std::vector<float> copied(kElements * kPieces);
    std::memcpy(copied.data(), reinterpret_cast<const void*>(values_[gpu].value),
                copied.size() * sizeof(float));
    return copied;
  }

  const Machine& machine() const { return machine_; }
  const Program& program() const { return program_; }
  sim::SimDriver& driver() { return driver_; }
  Hops& hops() { return hops_; }

 private:
  void fill(std::size_t gpu, float value) {
    const std::vector<float> filled(kElements * kPieces, value);
    std::memcpy(reinterpret_cast<void*>(values_[gpu].value), filled.data(),
                filled.size() * sizeof(float));
  }

  Machine machine_ = hand_machine();
  Program program_;
  std::string structure_;
  sim::SimDriver driver_;
  Hops hops_;
  std::array<Address, 2> values_;
  StreamHandle stream_;
};

// When it is predicted to be done, as a waiting thread sees it.
Seconds predicted(const Machine& machine, const Program& program) {
  HopRates rates(machine);
  Timeline timeline(machine, rates);
  const auto played = timeline.add(program, issue_times(machine, program, Executor::stream), {});
  timeline.play();
  const Seconds last = played.back()->finished;
  return last + machine.wait_latency(program.nodes().back().hop, {0}) + machine.costs.synchronize;
}

TEST(SumProgram, AddsUpOnStreams) {
  SumOfTwo sum;
  StreamExecutor streams(sum.driver(), sum.hops());

  sum.run(streams, 1.5F, 2.0F);

  EXPECT_THAT(sum.values(0), Each(3.5F));
  EXPECT_THAT(sum.values(1), Each(3.5F));
  EXPECT_THAT(sum.driver().violations(), IsEmpty());
}

TEST(SumProgram, AddsUpAgainInTheSameSlots) {
  SumOfTwo sum;
  StreamExecutor streams(sum.driver(), sum.hops());
  sum.run(streams, 1.5F, 2.0F);

  sum.run(streams, 10.0F, 20.0F);

  EXPECT_THAT(sum.values(0), Each(30.0F));
  EXPECT_THAT(sum.values(1), Each(30.0F));
  EXPECT_THAT(sum.driver().violations(), IsEmpty());
}

TEST(SumProgram, AddsUpAsAGraphThatIsLaunchedAgain) {
  SumOfTwo sum;
  Statistics counted;
  GraphExecutor graphs(sum.driver(), sum.hops(), settings(), counted);
  sum.run(graphs, 1.5F, 2.0F);

  sum.run(graphs, -1.0F, 4.0F);

  EXPECT_THAT(sum.values(0), Each(3.0F));
  EXPECT_THAT(sum.values(1), Each(3.0F));
  EXPECT_THAT(sum.driver().violations(), IsEmpty());
  EXPECT_EQ(counted.graph_instantiations, 1U);
  EXPECT_EQ(counted.graph_hits, 1U);
}

TEST(SumProgram, IsInTheTraceNodeByNode) {
  SumOfTwo sum;
  StreamExecutor streams(sum.driver(), sum.hops());

  sum.run(streams, 1.0F, 1.0F);

  int copies = 0, reductions = 0;
  for (const sim::Span& span : sum.driver().trace()) {
    EXPECT_EQ(span.label.transfer, 7U);
    EXPECT_EQ(span.bytes, kPiece);
    (span.hop.valid() ? copies : reductions) += 1;
    if (span.hop.valid()) continue;
    EXPECT_EQ(span.gpu, PlaceId{0});
    EXPECT_NEAR((span.finished - span.started).value,
                sum.machine().reduction_time({0}, kPiece).value, 1e-12);
  }
  EXPECT_EQ(copies, 2 * kPieces);
  EXPECT_EQ(reductions, kPieces);
}

TEST(SumProgram, TakesAsLongAsTheTimelineSays) {
  SumOfTwo sum;
  StreamExecutor streams(sum.driver(), sum.hops());

  const Seconds taken = sum.run(streams, 1.0F, 1.0F);

  EXPECT_NEAR(taken.value, predicted(sum.machine(), sum.program()).value, 1e-9);
}

// At any timing: nothing orders the reduction after the copy that it reads.
TEST(SumProgram, IsARaceWithoutAnEdge) {
  for (const bool as_graph : {false, true}) {
    SumOfTwo sum(false);
    Statistics counted;
    StreamExecutor streams(sum.driver(), sum.hops());
    GraphExecutor graphs(sum.driver(), sum.hops(), settings(), counted);

    as_graph ? sum.run(graphs, 1.0F, 1.0F) : sum.run(streams, 1.0F, 1.0F);

    EXPECT_THAT(sum.driver().violations(), testing::Not(IsEmpty())) << as_graph;
  }
}

}  // namespace
}  // namespace polypath::test::program_test
