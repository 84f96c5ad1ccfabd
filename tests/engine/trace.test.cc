// What a trace says of an engine's transfers is what the simulated driver, which keeps a trace of
// its own, has seen: every copy, its bytes, its times by a clock that is the host's, and what
// waited.

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "driver/trace/traced_driver.h"
#include "machine/load_machine.h"
#include "support/rig.h"

namespace polypath::test::trace_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kSize = std::size_t{1} << 20;

// Copies wait for each other, and are not over when all is enqueued, only where calls take less
// time than they.
Machine with_fast_calls(const std::string& name) {
  Machine machine = load_machine(name);
  machine.costs.copy = 2_us;
  machine.costs.event_record = machine.costs.event_wait = 0.5_us;
  return machine;
}

// GPU 0 of beluga to GPU 1, over three paths in at least five chunks, under a trace.
class Trace : public testing::Test {
 protected:
  explicit Trace(trace::Limits limits = {})
      : rig_(with_fast_calls("beluga"), small_settings()),
        recorder_(
            std::in_place, rig_.driver(), rig_.machine(),
            [this](const auto& events) {
              for (const std::string& event : events) events_.push_back(json::parse(event));
            },
            limits),
        traced_(std::shared_ptr<Driver>(std::shared_ptr<void>(), &rig_.driver()), *recorder_) {
    rig_.use(traced_);
    stream_ = rig_.stream("gpu0");
    recorder_->streams().add(stream_, rig_.machine().find_place("gpu0"), false);
    destination_ = &rig_.buffer("gpu1", kSize);
    source_ = &rig_.buffer("gpu0", kSize);
  }

  ~Trace() override { rig_.destroy_engines(); }  // before the recorder that knows their streams

  void copy(std::optional<Executor> executor = Executor::stream) {
    rig_.copy(*destination_, *source_, stream_, forced({"direct", "gpu2", "gpu3"}, executor));
  }
  void finish() {
    traced_.synchronize(stream_);
    recorder_->finish();
  }
  [[nodiscard]] std::vector<json> slices(const std::string& category) const {
    std::vector<json> found;
    for (const json& event : events_)
      if (event["ph"] == "X" && event["cat"] == category) found.push_back(event);
    return found;
  }
  [[nodiscard]] const json& metadata(const std::string& name) const {
    return *std::find_if(events_.begin(), events_.end(),
                         [&](const json& event) { return event["name"] == name; });
  }
  void expect_clean() {
    EXPECT_TRUE(rig_.intact());
    rig_.destroy_engines();  // their streams are known to the recorder
    recorder_.reset();
    EXPECT_THAT(rig_.close(), IsEmpty());
  }

  Rig rig_;
  std::vector<json> events_;
  std::optional<trace::Recorder> recorder_;
  trace::TracedDriver traced_;
  StreamHandle stream_;
  Buffer* destination_ = nullptr;
  Buffer* source_ = nullptr;
};

TEST_F(Trace, HasEveryCopyAndNamesItByItsWay) {
  copy();
  finish();

  const auto copies = slices("copy");
  std::uint64_t arrived = 0;
  for (const json& each : copies)
    if (each["args"]["path"] == 0 ||
        each["name"].get<std::string>().find("via") != std::string::npos)
      arrived += each["args"]["bytes"].get<std::uint64_t>();
  const auto named = [&](const std::string& name) {
    return std::count_if(copies.begin(), copies.end(), [&](const json& each) {
      return each["name"].get<std::string>().starts_with(name);
    });
  };
  const auto direct = named("gpu0 -> gpu1, ");
  EXPECT_EQ(direct, 1);
  EXPECT_EQ(named("gpu0 -> gpu1 via gpu2, chunk 1 of "), 2);  // both hops
  EXPECT_EQ(named("gpu0 -> gpu1 via gpu3, chunk 1 of "), 2);
  EXPECT_EQ(metadata("polypath_summary")["args"]["pieces_of_work"], copies.size());
  EXPECT_EQ(metadata("polypath_summary")["args"]["left_out"], 0);
  // What goes by two hops is there twice: 1 MiB and the staged two thirds of it again.
  EXPECT_NEAR(static_cast<double>(arrived), kSize * 5.0 / 3, 4096);
  expect_clean();
}

// Each copy lies within its own two events, and these within what the calls beside it cost.
TEST_F(Trace, TimesAreThoseOfTheDriver) {
  constexpr double kReading = 5;  // us: half of what a reading of the GPU's clock takes here
  copy();
  finish();

  auto copies = slices("copy");
  ASSERT_FALSE(copies.empty());
  double first = 1e30, last = 0;
  for (const json& each : copies) {
    EXPECT_GE(each["dur"].get<double>(), 0);
    first = std::min(first, each["ts"].get<double>());
    last = std::max(last, each["ts"].get<double>() + each["dur"].get<double>());
  }
  const json issue = slices("issue").front();
  EXPECT_GE(first, issue["ts"].get<double>() - kReading);
  EXPECT_LE(last, rig_.driver().now().value * 1e6);
  expect_clean();
}

TEST_F(Trace, TheSecondHopComesAfterTheFirstAndAnArrowSaysSo) {
  copy();
  finish();

  std::vector<json> begins, ends;
  for (const json& event : events_) {
    if (event["name"] != "chunk") continue;
    (event["ph"] == "s" ? begins : ends).push_back(event);
  }
  ASSERT_GE(begins.size(), 10U);  // five chunks and more on each of two paths
  ASSERT_EQ(begins.size(), ends.size());
  for (std::size_t i = 0; i < begins.size(); ++i) {
    EXPECT_EQ(begins[i]["id"], ends[i]["id"]);
    EXPECT_LT(begins[i]["ts"].get<double>(), ends[i]["ts"].get<double>());
    EXPECT_NE(begins[i]["tid"], ends[i]["tid"]);
  }
  expect_clean();
}

TEST_F(Trace, WaitsSayWhatFor) {
  copy();
  finish();

  const auto waits = slices("wait");
  ASSERT_FALSE(waits.empty());
  EXPECT_TRUE(std::any_of(waits.begin(), waits.end(), [](const json& wait) {
    return wait["args"]["for 1"].get<std::string>().find("via gpu2, chunk 1 of") !=
           std::string::npos;
  }));
  expect_clean();
}

TEST_F(Trace, AGraphIsOnePiece) {
  copy(Executor::graph);
  finish();

  const auto copies = slices("copy");
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_THAT(copies[0]["name"].get<std::string>(), HasSubstr("gpu0 -> gpu1, graph of "));
  EXPECT_THAT(copies[0]["name"].get<std::string>(), HasSubstr("1 MiB"));
  expect_clean();
}

// A transfer is written once nothing has been added to it between two looks, with its chunks
// counted; finish() has nothing left to write then.
TEST_F(Trace, IsWrittenWhileTheProgramRuns) {
  copy();
  traced_.synchronize(stream_);

  recorder_->collect();
  EXPECT_THAT(slices("copy"), IsEmpty());
  recorder_->collect();

  EXPECT_FALSE(slices("copy").empty());
  finish();
  expect_clean();
}

// Behind a copy of 1.3 ms, when to look takes some microseconds.
TEST_F(Trace, WhatIsNotOverAtTheEndIsCounted) {
  constexpr std::size_t kLarge = std::size_t{64} << 20;
  PlanOptions natively;
  natively.executor = Executor::native;
  rig_.copy(rig_.buffer("gpu1", kLarge), rig_.buffer("gpu0", kLarge), stream_, natively);
  copy();

  recorder_->finish();

  EXPECT_GT(recorder_->left_out(), 0U);
  traced_.synchronize(stream_);
  expect_clean();
}

TEST_F(Trace, AFailingDriverLosesTheTraceAndNothingElse) {
  copy();
  traced_.synchronize(stream_);
  rig_.driver().fail_from(sim::Call::elapsed, 1);

  recorder_->finish();

  EXPECT_GT(recorder_->left_out(), 0U);
  rig_.driver().clear_faults();
  expect_clean();
}

class TraceOfLittle : public Trace {
 protected:
  TraceOfLittle() : Trace({.in_flight = 4, .calls = 4}) {}
};

TEST_F(TraceOfLittle, NoMoreIsKeptThanIsAllowed) {
  copy();
  finish();

  EXPECT_EQ(slices("copy").size(), 4U);
  EXPECT_GT(recorder_->left_out(), 0U);
  expect_clean();
}

}  // namespace
}  // namespace polypath::test::trace_test
