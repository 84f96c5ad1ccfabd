// What copies gain that are asked for together, once they take as long each time.

#include <gmock/gmock.h>

#include <iterator>
#include <map>
#include <vector>

#include "driver/sim/sim_driver.h"
#include "engine/engine.h"
#include "machine/load_machine.h"
#include "plan/joint/patterns.h"
#include "support/layers.h"

namespace polypath::test::copy_many_gains_test {
namespace {

enum class Streams { each_its_own, one };

/// A pattern on a simulated machine without bytes.
class PatternRun {
 public:
  PatternRun(const Machine& machine, const std::vector<JointTransfer>& transfers, Streams streams)
      : driver_(machine, sim::kTimingOnly), engine_(driver_, machine, quiet()) {
    for (const JointTransfer& transfer : transfers) {
      if (streams_.empty() || streams == Streams::each_its_own)
        streams_[driver_.create_stream(transfer.source)] = transfer.source;
      const auto [stream, gpu] = *std::prev(streams_.end());
      calls_.push_back({.destination = driver_.allocate(transfer.destination, transfer.bytes),
                        .source = driver_.allocate(transfer.source, transfer.bytes),
                        .bytes = transfer.bytes,
                        .stream = stream,
                        .stream_gpu = gpu});
    }
  }
  ~PatternRun() { synchronize(); }
  PatternRun(const PatternRun&) = delete;
  PatternRun& operator=(const PatternRun&) = delete;

  /// Until the last copy is over, once it takes as long each time.
  Seconds together() {
    return steady([this] { results_ = engine_.copy_many(calls_); });
  }
  Seconds natively() {
    return steady([this] {
      for (CopyCall call : calls_) {
        call.options.executor = Executor::native;
        (void)engine_.copy(call);
      }
    });
  }
  [[nodiscard]] const std::vector<CopyResult>& results() const { return results_; }
  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] std::vector<CopyCall>& calls() { return calls_; }

 private:
  static Settings quiet() {
    Settings settings;
    settings.log_level = "off";
    return settings;
  }
  void synchronize() {
    for (const auto& [stream, gpu] : streams_) driver_.synchronize(stream);
  }
  template <class Issue>
  Seconds steady(Issue issue) {
    Seconds time;
    for (int i = 0; i < 6; ++i) {
      const Seconds start = driver_.now();
      issue();
      synchronize();
      time = driver_.now() - start;
    }
    return time;
  }

  sim::SimDriver driver_;
  Engine engine_;
  std::map<StreamHandle, PlaceId> streams_;
  std::vector<CopyCall> calls_;
  std::vector<CopyResult> results_;
};

struct Gain {
  std::string machine;
  std::string pattern;
  Bytes bytes;
  Streams streams;
  double least;
  std::size_t gpus = 0;
};

class CopiesTogether : public testing::TestWithParam<Gain> {};

INSTANTIATE_TEST_SUITE_P(
    Patterns, CopiesTogether,
    testing::Values(Gain{"beluga", "ring", 256_MiB, Streams::each_its_own, 1.8},
                    Gain{"beluga", "ring", 16_MiB, Streams::each_its_own, 1.0},
                    Gain{"beluga", "pairs", 256_MiB, Streams::each_its_own, 1.5},
                    Gain{"beluga", "fan-out", 256_MiB, Streams::each_its_own, 1.44, 3},
                    Gain{"beluga", "gather", 256_MiB, Streams::each_its_own, 1.0},
                    Gain{"beluga", "alltoall", 64_MiB, Streams::each_its_own, 1.0},
                    Gain{"narval", "ring", 256_MiB, Streams::each_its_own, 1.7},
                    Gain{"h200x8", "ring", 64_MiB, Streams::each_its_own, 1.0},
                    Gain{"beluga", "fan-out", 256_MiB, Streams::one, 2.9, 3},
                    Gain{"beluga", "ring", 256_MiB, Streams::one, 7.0},
                    Gain{"beluga", "fan-out", 2_MiB, Streams::one, 1.0}),
    [](const auto& info) { return "case_" + std::to_string(info.index); });

TEST_P(CopiesTogether, GainBesideNativeOnes) {
  const Gain& asked = GetParam();
  SCOPED_TRACE(asked.machine + " " + asked.pattern);
  const Machine machine = load_machine(asked.machine);
  const auto set = pattern_of(machine, asked.pattern, asked.bytes, asked.gpus);
  PatternRun run(machine, set, asked.streams);

  const Seconds natively = run.natively();
  const Seconds together = run.together();

  constexpr double kRounding = 1e-3;
  EXPECT_GE(natively / together, asked.least - kRounding);
  RecordProperty("gain", std::to_string(natively / together));
}

// As asked for, the short one would wait for the many calls of the long one, and so none would
// gain.
TEST(CopiesTogetherInAnotherOrder, EndAsPredictedAndNoneLaterThanNatively) {
  const Machine machine = load_machine("beluga");
  const std::vector<JointTransfer> set{{{0}, {1}, 512_MiB}, {{2}, {3}, 1_MiB}};
  for (const Streams streams : {Streams::each_its_own, Streams::one}) {
    PatternRun run(machine, set, streams);
    Planner planner(machine, Settings{});
    const auto joint = JointPlanner(planner).plan(set, {.free_order = true});

    const Seconds together = run.together();

    EXPECT_THAT(joint->order, testing::ElementsAre(1U, 0U));
    EXPECT_EQ(run.results()[0].means, Method::paths);
    EXPECT_NEAR(together / joint->predicted, 1, 0.025);
    EXPECT_GT(joint->native_predicted / together, 1.5);
  }
}

TEST(CopiesTogetherBesideOthers, ArePlannedOneByOne) {
  const Machine machine = load_machine("beluga");
  PatternRun run(machine, pattern_of(machine, "fan-out", 256_MiB), Streams::each_its_own);
  const std::vector<CopyCall> two{run.calls()[0], run.calls()[1]};
  (void)run.engine().copy(run.calls()[2]);

  const std::vector<CopyResult> results = run.engine().copy_many(two);

  // A joint plan of two would have taken the link that the third one is on.
  const Machine alone_machine = load_machine("beluga");
  Planner planner(alone_machine, Settings{});
  const auto joint = JointPlanner(planner).plan(pattern_of(machine, "fan-out", 256_MiB, 3));
  EXPECT_NE(results[0].plan->structure, joint->plans[0]->structure);
}

}  // namespace
}  // namespace polypath::test::copy_many_gains_test
