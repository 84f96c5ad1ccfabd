// The planner believes in one machine, the driver is another one: capacities, bandwidths and
// latencies are off by up to 30 %. Simulated times, so that everything is the same in every run.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <random>
#include <thread>

#include "driver/sim/sim_driver.h"
#include "engine/engine.h"
#include "machine/load_machine.h"
#include "support/rig.h"

namespace polypath::test::closed_loop_test {
namespace {

Machine believed(Machine machine, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> exponent(-std::log(1.3), std::log(1.3));
  const auto factor = [&] { return std::exp(exponent(generator)); };
  for (Resource& resource : machine.resources) resource.capacity.value *= factor();
  for (Hop& hop : machine.hops) {
    hop.latency = hop.latency * factor();
    hop.bandwidth.value *= factor();
  }
  for (Place& place : machine.places) {
    const double off = factor();
    place.staging_latency = place.staging_latency * off;
    place.relay_latency = place.relay_latency * off;
  }
  return machine;
}

/// The same copy again and again, each waited for.
class Loop {
 public:
  Loop(const Machine& truth, const Machine& planned, const std::string& source,
       const std::string& destination, Bytes bytes, bool learn)
      : driver_(truth, sim::kTimingOnly), engine_(driver_, planned, settings(learn)) {
    const auto [from, to] = truth.find_ends(source, destination);
    const PlaceId gpu = truth.place(from).kind == PlaceKind::gpu ? from : to;
    call_ = {.destination = driver_.allocate(to, bytes),
             .source = driver_.allocate(from, bytes),
             .bytes = bytes,
             .stream = driver_.create_stream(gpu),
             .stream_gpu = gpu};
  }

  std::vector<Seconds> times(int count, std::optional<Executor> executor = std::nullopt) {
    call_.options.executor = executor;
    std::vector<Seconds> times;
    for (int i = 0; i < count; ++i) {
      const Seconds begin = driver_.now();
      (void)engine_.copy(call_);
      driver_.synchronize(call_.stream);
      times.push_back(driver_.now() - begin);
    }
    return times;
  }
  /// How many of so many copies go natively that are all queued before the first one is over.
  int natively_of_queue(int count) {
    int natively = 0;
    for (int i = 0; i < count; ++i) natively += engine_.copy(call_).means == Method::native ? 1 : 0;
    driver_.synchronize(call_.stream);
    return natively;
  }
  Seconds steady(int before, std::optional<Executor> executor = std::nullopt) {
    (void)times(before, executor);
    std::vector<Seconds> last = times(16, executor);
    std::nth_element(last.begin(), last.begin() + 8, last.end());
    return last[8];
  }

 private:
  static Settings settings(bool learn) {
    Settings settings;
    settings.learn = learn;
    settings.log_level = "off";
    return settings;
  }

  sim::SimDriver driver_;
  Engine engine_;
  CopyCall call_;
};

struct Way {
  const char* machine;
  const char* source;
  const char* destination;
};

void PrintTo(const Way& way, std::ostream* out) {
  *out << way.machine << " " << way.source << " " << way.destination;
}

class ClosedLoop : public testing::TestWithParam<Way> {
 protected:
  static constexpr int kLongEnough = 400;
};

TEST_P(ClosedLoop, FindsMostOfTheGainOfTheRightMachineAndIsNeverSlowerThanNatively) {
  const auto& [name, source, destination] = GetParam();
  const Machine truth = load_machine(name);
  double sum = 0;
  int runs = 0;
  for (const Bytes bytes : {8_MiB, 64_MiB, 256_MiB}) {
    const Seconds native =
        Loop(truth, truth, source, destination, bytes, false).steady(2, Executor::native);
    const Seconds right = Loop(truth, truth, source, destination, bytes, false).steady(6);
    for (const unsigned seed : {1U, 2U, 3U}) {
      Loop loop(truth, believed(truth, seed), source, destination, bytes, true);
      const Seconds learnt = loop.steady(kLongEnough);
      EXPECT_LE(learnt, native * (1 / 0.98)) << bytes.value << " seed " << seed;
      EXPECT_LE(learnt, right * (1 / 0.9)) << bytes.value << " seed " << seed;
      sum += right / learnt, ++runs;
    }
  }
  EXPECT_GE(sum / runs, 0.97);
}

TEST_P(ClosedLoop, LeavesAPlanThatIsRightAlone) {
  const auto& [name, source, destination] = GetParam();
  const Machine truth = load_machine(name);

  Loop without(truth, truth, source, destination, 64_MiB, false);
  Loop with(truth, truth, source, destination, 64_MiB, true);

  EXPECT_LE(with.steady(kLongEnough), without.steady(kLongEnough) * 1.005);
}

INSTANTIATE_TEST_SUITE_P(Ways, ClosedLoop,
                         testing::Values(Way{"beluga", "gpu0", "gpu1"},
                                         Way{"beluga", "host", "gpu0"},
                                         Way{"narval", "gpu0", "gpu1"}, Way{"mist", "gpu0", "host"},
                                         Way{"h200x4", "gpu0", "gpu1"},
                                         Way{"h200x4", "gpu0", "host"},
                                         Way{"dgx-a100", "gpu0", "gpu1"}));

// A relay through the host is taken to be four times as fast as it is, and carries far too much.
Machine very_wrong(Machine machine) {
  for (Hop& hop : machine.hops)
    if (hop.kind == HopKind::host) hop.bandwidth.value *= 4;
  for (Resource& resource : machine.resources)
    if (resource.kind == "pcie" || resource.kind == "memory") resource.capacity.value *= 4;
  return machine;
}

// No time can be read before all of a queue has been issued.
TEST(ClosedLoopOnAVeryWrongMachine, InDoubtOneCopyOfAQueueIsTriedNatively) {
  const Machine truth = load_machine("h200x4");
  Loop loop(truth, very_wrong(truth), "gpu0", "gpu1", 256_MiB, true);
  (void)loop.times(8);

  EXPECT_EQ(loop.natively_of_queue(20), 1);
}

TEST(ClosedLoopOnAVeryWrongMachine, WithinFiftyTransfersNothingIsSlowerThanNatively) {
  const Machine truth = load_machine("h200x4");
  const Machine wrong = very_wrong(truth);
  const Seconds native =
      Loop(truth, truth, "gpu0", "gpu1", 256_MiB, false).steady(2, Executor::native);
  const Seconds trusting = Loop(truth, wrong, "gpu0", "gpu1", 256_MiB, false).steady(6);
  ASSERT_GT(trusting, native * 1.05);  // the mistake matters

  Loop loop(truth, wrong, "gpu0", "gpu1", 256_MiB, true);

  EXPECT_LE(loop.steady(50), native);
}

class Keeper final : public ExperienceKeeper {
 public:
  LearntKinds read() noexcept override { return known; }
  void keep(const LearntKinds& learnt) noexcept override {
    known = learnt;
    times.fetch_add(1);
  }

  LearntKinds known;
  std::atomic<int> times{0};
};

class KeptExperience : public testing::Test {
 protected:
  std::unique_ptr<Engine> engine(const std::string& prepare) {
    Settings settings;
    settings.prepare = prepare;
    settings.prepare_after = 0;
    return std::make_unique<Engine>(driver_, machine_, settings, nullptr, keeper_);
  }
  CopyResult copy(Engine& engine) {
    const CopyResult result = engine.copy(call_);
    driver_.synchronize(call_.stream);
    return result;
  }

  Machine machine_ = load_machine("beluga");
  sim::SimDriver driver_{machine_, sim::kTimingOnly};
  std::shared_ptr<Keeper> keeper_ = std::make_shared<Keeper>();
  PlaceId here_ = machine_.find_place("gpu0"), there_ = machine_.find_place("gpu1");
  CopyCall call_{.destination = driver_.allocate(there_, 64_MiB),
                 .source = driver_.allocate(here_, 64_MiB),
                 .bytes = 64_MiB,
                 .stream = driver_.create_stream(here_),
                 .stream_gpu = here_};
};

TEST_F(KeptExperience, IsKeptAtTheEnd) {
  auto engine = this->engine("now");
  for (int i = 0; i < 200; ++i) (void)copy(*engine);

  engine.reset();

  ASSERT_EQ(keeper_->known.size(), 1U);
  EXPECT_EQ(keeper_->known.front().first, (TransferKind{here_, there_, 64_MiB}));
}

// A program may end without a word.
TEST_F(KeptExperience, IsKeptBeforeTheEndWhereThatHoldsNobodyUp) {
  auto engine = this->engine("background");
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);

  // The thread that keeps it runs when no other one wants the processor.
  while (keeper_->times == 0 && std::chrono::steady_clock::now() < end) {
    (void)copy(*engine);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }

  EXPECT_GT(keeper_->times, 0);
}

TEST_F(KeptExperience, CountsFromTheFirstTransferOn) {
  keeper_->known = {{{here_, there_, 64_MiB},
                     {.natively = true, .paths = 2000_us, .native = 1400_us, .transfers = 60}}};

  const CopyResult result = copy(*engine("now"));

  EXPECT_EQ(result.executor, Executor::native);
}

TEST(ClosedLoopOfEveryByte, CopiesStayRightWhileTheyAreTimed) {
  Settings settings = small_settings();
  settings.learn = true;
  Rig rig("beluga", settings);
  Buffer& source = rig.buffer("gpu0", 300'000);
  Buffer& destination = rig.buffer("gpu1", 300'000);
  const StreamHandle stream = rig.stream("gpu0");

  for (int i = 0; i < 80; ++i) {
    (void)rig.copy(destination, source, stream);
    rig.synchronize();
    ASSERT_TRUE(rig.intact());
  }

  EXPECT_EQ(rig.close(), std::vector<std::string>{});
}

/// The same exchange of two GPUs again and again, both copies waited for.
class Exchanges {
 public:
  Exchanges(const Machine& truth, const Machine& planned, bool learn)
      : driver_(truth, sim::kTimingOnly), engine_(driver_, planned, settings(learn)) {
    const PlaceId gpus[] = {truth.find_place("gpu0"), truth.find_place("gpu1")};
    for (int from : {0, 1})
      calls_.push_back({.destination = driver_.allocate(gpus[1 - from], kBytes),
                        .source = driver_.allocate(gpus[from], kBytes),
                        .bytes = kBytes,
                        .stream = driver_.create_stream(gpus[from]),
                        .stream_gpu = gpus[from]});
  }

  Seconds median_after(int rounds, std::optional<Executor> executor = std::nullopt) {
    std::vector<Seconds> times;
    for (int round = 0; round < rounds + kMeasured; ++round) {
      const Seconds begin = driver_.now();
      for (CopyCall& call : calls_) {
        call.options.executor = executor;
        (void)engine_.copy(call);
      }
      for (const CopyCall& call : calls_) driver_.synchronize(call.stream);
      if (round >= rounds) times.push_back(driver_.now() - begin);
    }
    std::ranges::sort(times);
    return times[kMeasured / 2];
  }

 private:
  static constexpr Bytes kBytes = 256_MiB;
  static constexpr int kMeasured = 33;

  static Settings settings(bool learn) {
    Settings settings;
    settings.learn = learn;
    settings.log_level = "off";
    return settings;
  }

  sim::SimDriver driver_;
  Engine engine_;
  std::vector<CopyCall> calls_;
};

// As on one computer with two H200s: with a part through the host both ways took 1.47 times as long
// as natively, where 0.94 was predicted.
TEST(ClosedLoopOfExchanges, AnExchangeThatTakesLongerThanNativelyIsLeftToTheDriver) {
  const Machine planned = load_machine("h200x4");
  Machine truth = planned;
  for (Hop& hop : truth.hops)
    if (truth.place(hop.source).kind == PlaceKind::host ||
        truth.place(hop.destination).kind == PlaceKind::host)
      hop.bandwidth.value *= 0.3;
  const Seconds native = Exchanges(truth, planned, false).median_after(2, Executor::native);

  const Seconds believing = Exchanges(truth, planned, false).median_after(100);
  const Seconds learning = Exchanges(truth, planned, true).median_after(100);

  EXPECT_GT(believing, native * 1.1);
  EXPECT_LT(learning, native * 1.01);
}

// The part through the host of the copy from gpu1 costs the copy from gpu0 what it gains itself.
TEST(ClosedLoopOfExchanges, ACopyThatHarmsTheOtherOneOnlyIsLeftToTheDriverToo) {
  const Machine planned = load_machine("h200x4");
  Machine truth = planned;
  const PlaceId gpu0 = truth.find_place("gpu0"), gpu1 = truth.find_place("gpu1");
  const Use shared = truth.hop(*truth.find_hop(gpu0, gpu1)).uses.front();
  for (Hop& hop : truth.hops)
    if (hop.source == gpu1 && truth.place(hop.destination).kind == PlaceKind::host)
      hop.uses.push_back({shared.resource, 8 * shared.weight});
  const Seconds native = Exchanges(truth, planned, false).median_after(2, Executor::native);

  const Seconds believing = Exchanges(truth, planned, false).median_after(100);
  const Seconds learning = Exchanges(truth, planned, true).median_after(200);

  EXPECT_GT(believing, native * 1.1);
  EXPECT_LT(learning, native * 1.01);
}

TEST(ClosedLoopOfExchanges, AnExchangeThatGainsStaysAsItIs) {
  const Machine machine = load_machine("h200x4");

  const Seconds believing = Exchanges(machine, machine, false).median_after(100);
  const Seconds learning = Exchanges(machine, machine, true).median_after(100);

  EXPECT_LT(learning, believing * 1.01);
}

}  // namespace
}  // namespace polypath::test::closed_loop_test
