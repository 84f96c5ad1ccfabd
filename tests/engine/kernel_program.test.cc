// A program with kernels between its copies, and a third buffer: gpu0 adds to what gpu1 has and
// sends the sum on to the host.
//
//   gpu1's values ── copy ──▶ scratch of gpu0 ── kernel ──▶ gpu0's sums ── copy ──▶ host
//
// in kPieces pieces through two slots. Both executors run it on the simulated driver, which checks
// every access; the timeline says beforehand when it ends.

#include <gmock/gmock.h>

#include <array>
#include <cstring>

#include "driver/sim/sim_driver.h"
#include "engine/execute/graph_executor.h"
#include "engine/execute/stream_executor.h"
#include "model/timeline.h"
#include "support/add_kernel.h"
#include "support/errors.h"
#include "support/hand_machine.h"

namespace polypath::test::kernel_program_test {
namespace {

using testing::Each;
using testing::IsEmpty;
using testing::Not;

constexpr int kPieces = 5, kSlots = 2;
constexpr std::size_t kElements = 4096;  // of a piece
constexpr Bytes kPiece{kElements * sizeof(std::uint32_t)};
constexpr Seconds kKernel = 30_us;
constexpr PlaceId kHost{3};

Node copy_node(HopId hop, Slice source, Slice destination, int queue) {
  Node node;
  node.hop = hop, node.source = source, node.destination = destination;
  node.bytes = kPiece, node.queue = queue;
  return node;
}

KernelCall add_call(Slice sum, Slice values, std::uint64_t added) {
  return {.kernel = 0,
          .gpu = {0},
          .memory = {{.slice = sum, .bytes = kPiece, .writes = true},
                     {.slice = values, .bytes = kPiece}},
          .values = {kElements, added},
          .shape = shape_for(kElements),
          .duration = kKernel};
}

// `waits` false leaves out that a kernel comes after the copy that it reads.
Program build(const Machine& machine, bool waits = true) {
  const HopId in = *machine.find_hop({1}, {0}), out = *machine.find_hop({0}, kHost);
  Program program;
  const int values = program.add(ProgramBuffer{{1}}), sums = program.add(ProgramBuffer{{0}});
  const int received = program.add(ProgramBuffer{kHost});
  std::array<int, kSlots> slots{};
  for (int slot = 0; slot < kSlots; ++slot)
    slots[static_cast<std::size_t>(slot)] = program.add(ProgramBuffer{{0}, in, slot});
  const int incoming = program.add(queue_of(machine, in));
  const int adding = program.add(Queue{{}, {0}});
  const int outgoing = program.add(queue_of(machine, out));
  std::vector<int> kernels;
  for (int piece = 0; piece < kPieces; ++piece) {
    const Bytes offset = kPiece * static_cast<std::uint64_t>(piece);
    const Slice slot{slots[static_cast<std::size_t>(piece % kSlots)], {}};
    std::vector<int> free, arrived;
    if (piece >= kSlots) free = {kernels[static_cast<std::size_t>(piece - kSlots)]};
    const int copied = program.add(copy_node(in, {values, offset}, slot, incoming), free);
    if (waits) arrived = {copied};
    kernels.push_back(program.add(add_call({sums, offset}, slot, 7), adding, arrived));
    program.add(copy_node(out, {sums, offset}, {received, offset}, outgoing), {kernels.back()});
  }
  program.assign_events();
  return program;
}

Settings settings() {
  Settings settings;
  settings.staging_slot = kPiece;
  settings.staging_slots = kSlots;
  return settings;
}

class SumOnTheWay {
 public:
  explicit SumOnTheWay(bool waits = true)
      : program_(build(machine_, waits)),
        structure_(structure_of(program_)),
        driver_(machine_, {.record_trace = true}),
        hops_(driver_, machine_, settings()) {
    const Bytes all = kPiece * std::uint64_t{kPieces};
    buffers_ = {driver_.allocate({1}, all), driver_.allocate({0}, all),
                driver_.allocate(kHost, all)};
    stream_ = driver_.create_stream({1});
    load(add_kernel());
  }

  void load(const Kernel& kernel) { kernels_ = {driver_.load_kernel({0}, kernel)}; }
  void move_sums() { buffers_[1] = driver_.allocate({0}, kPiece * std::uint64_t{kPieces}); }

  // Returns how long it took on the driver's clock.
  template <class Runner>
  Seconds run(Runner& executor, std::uint32_t value) {
    const std::vector<std::uint32_t> filled(kElements * kPieces, value);
    std::memcpy(reinterpret_cast<void*>(buffers_[0].value), filled.data(),
                filled.size() * sizeof(std::uint32_t));
    const Transfer transfer{&program_, structure_, buffers_, stream_, {1}, 7, kernels_};
    executor.prepare(transfer);
    const Seconds start = driver_.now();
    executor.run(transfer);
    driver_.synchronize(stream_);
    return driver_.now() - start;
  }

  [[nodiscard]] std::vector<std::uint32_t> received() const {
    std::vector<std::uint32_t> copied(kElements * kPieces);
    std::memcpy(copied.data(), reinterpret_cast<const void*>(buffers_[2].value),
                copied.size() * sizeof(std::uint32_t));
    return copied;
  }

  const Machine& machine() const { return machine_; }
  const Program& program() const { return program_; }
  sim::SimDriver& driver() { return driver_; }
  Hops& hops() { return hops_; }
  void forget_kernels() { kernels_.clear(); }

 private:
  Machine machine_ = hand_machine();
  Program program_;
  std::string structure_;
  sim::SimDriver driver_;
  Hops hops_;
  std::array<Address, 3> buffers_;
  std::vector<KernelHandle> kernels_;
  StreamHandle stream_;
};

TEST(KernelProgram, AddsOnStreams) {
  SumOnTheWay sum;
  StreamExecutor streams(sum.driver(), sum.hops());

  sum.run(streams, 35);

  EXPECT_THAT(sum.received(), Each(42U));
  EXPECT_THAT(sum.driver().violations(), IsEmpty());
}

/// Once as a graph.
struct Launched {
  Launched() { sum.run(graphs, 1); }

  SumOnTheWay sum;
  Statistics counted;
  GraphExecutor graphs{sum.driver(), sum.hops(), settings(), counted};
};

TEST(KernelProgram, AddsAsAGraphThatIsLaunchedAgain) {
  Launched launched;
  auto& [sum, counted, graphs] = launched;

  sum.run(graphs, 2);

  EXPECT_THAT(sum.received(), Each(9U));
  EXPECT_THAT(sum.driver().violations(), IsEmpty());
  EXPECT_EQ(counted.graph_hits, 1U);
}

TEST(KernelProgram, AGraphIsGivenTheNewAddressesOfItsKernels) {
  Launched launched;
  auto& [sum, counted, graphs] = launched;
  sum.move_sums();

  sum.run(graphs, 2);

  EXPECT_THAT(sum.received(), Each(9U));
  EXPECT_THAT(sum.driver().violations(), IsEmpty());
  EXPECT_EQ(counted.graph_updates, 1U);
}

TEST(KernelProgram, AGraphOfOtherKernelsIsMadeAnew) {
  Launched launched;
  auto& [sum, counted, graphs] = launched;
  Kernel twice = add_kernel();
  twice.on_host = [add = add_kernel().on_host](auto memory, auto values) {
    add(memory, std::array{values[0], 2 * values[1]});
  };
  sum.load(twice);

  sum.run(graphs, 1);

  EXPECT_THAT(sum.received(), Each(15U));
  EXPECT_EQ(counted.graph_instantiations, 2U);
}

TEST(KernelProgram, IsInTheTraceNodeByNode) {
  SumOnTheWay sum;
  StreamExecutor streams(sum.driver(), sum.hops());

  sum.run(streams, 1);

  int copies = 0, kernels = 0;
  for (const sim::Span& span : sum.driver().trace()) {
    (span.hop.valid() ? copies : kernels) += 1;
    if (span.hop.valid()) continue;
    EXPECT_EQ(span.gpu, PlaceId{0});
    EXPECT_NEAR((span.finished - span.started).value, kKernel.value, 1e-12);
  }
  EXPECT_EQ(copies, 2 * kPieces);
  EXPECT_EQ(kernels, kPieces);
}

TEST(KernelProgram, TakesAsLongAsTheTimelineSays) {
  SumOnTheWay sum;
  StreamExecutor streams(sum.driver(), sum.hops());
  HopRates rates(sum.machine());
  Timeline timeline(sum.machine(), rates);
  const auto played =
      timeline.add(sum.program(), issue_times(sum.machine(), sum.program(), Executor::stream), {});
  timeline.play();

  const Seconds taken = sum.run(streams, 1);

  const Seconds noticed = sum.machine().wait_latency(sum.program().nodes().back().hop, {1}) +
                          sum.machine().costs.synchronize;
  EXPECT_NEAR(taken.value, (played.back()->finished + noticed).value, 1e-9);
}

// At any timing: nothing orders the kernel after the copy that it reads.
TEST(KernelProgram, IsARaceWithoutAnEdge) {
  for (const bool as_graph : {false, true}) {
    SumOnTheWay sum(false);
    Statistics counted;
    StreamExecutor streams(sum.driver(), sum.hops());
    GraphExecutor graphs(sum.driver(), sum.hops(), settings(), counted);

    as_graph ? sum.run(graphs, 1) : sum.run(streams, 1);

    EXPECT_THAT(sum.driver().violations(), Not(IsEmpty())) << as_graph;
  }
}

TEST(KernelProgram, WithoutItsKernelsIsRefused) {
  SumOnTheWay sum;
  Statistics counted;
  GraphExecutor graphs(sum.driver(), sum.hops(), settings(), counted);
  sum.forget_kernels();

  expect_error(
      ErrorCode::internal, [&] { sum.run(graphs, 1); }, "a kernel that is not there");
}

}  // namespace
}  // namespace polypath::test::kernel_program_test
