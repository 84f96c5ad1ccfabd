// Requests are read as documented, and complaints point at the field.

#include "bench/requests.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace polypath::bench::requests_test {
namespace {

using test::expect_error;

// The end of a request's text, behind what it needs.
PlanRequest plan_request(const std::string& more) {
  return read_plan_request(R"({"machine": "beluga", "source": "gpu0", "destination": "gpu1")" +
                           more + "}");
}

void expect_refused(const std::string& more, const std::string& complaint) {
  SCOPED_TRACE(more);
  expect_error(
      ErrorCode::invalid_argument, [&] { (void)plan_request(more); }, complaint, "docs/json.md");
}

TEST(PlanRequest, IsReadWithItsOptions) {
  const PlanRequest request = plan_request(
      R"(, "bytes": 1048576, "executor": "graph", "shares": {"direct": 0.75, "gpu2": 0.25},
         "chunks": {"gpu2": 4})");

  EXPECT_EQ(request.machine.name, "beluga");
  EXPECT_EQ(request.bytes, 1_MiB);
  EXPECT_EQ(request.options.executor, Executor::graph);
  EXPECT_EQ(request.options.shares.at("gpu2"), 0.25);
  EXPECT_EQ(request.options.chunks.at("gpu2"), 4);
}

TEST(PlanRequest, TakesNullForAnAbsentField) {
  const PlanRequest request = plan_request(R"(, "bytes": 4096, "paths": null, "shares": null)");

  EXPECT_TRUE(request.options.paths.empty());
  EXPECT_TRUE(request.options.shares.empty());
}

TEST(PlanRequest, PointsAtTheFieldThatCannotBeUsed) {
  expect_refused("", "the request has no 'bytes' (the field is required)");
  expect_refused(R"(, "bytes": "1M")", "the request: /bytes is of type string (a number");
  expect_refused(R"(, "bytes": -1)", "the request: /bytes is -1 (a whole number of at least 0");
  expect_refused(R"(, "bytes": 1.5)", "the request: /bytes is 1.5");
  expect_refused(R"(, "bytes": 1, "size": 1)",
                 "the request: /size is unknown (the fields here are");
  expect_refused(R"(, "bytes": 1, "bytes": 2)", "the key 'bytes' appears twice");
  expect_refused(R"(, "bytes": 1, "paths": "direct")", "the request: /paths is of type string");
  expect_refused(R"(, "bytes": 1, "paths": [1])", "the request: /paths/0 is of type number");
  expect_refused(R"(, "bytes": 1, "shares": {"direct": "all"})", "the request: /shares/direct is");
  expect_refused(R"(, "bytes": 1, "chunks": {"gpu2": 0})", "the request: /chunks/gpu2 is 0");
  expect_refused(R"(, "bytes": )", "the request: line 1");
}

TEST(PlanRequest, ThatIsNoObjectIsRefused) {
  for (const char* text : {"", "null", "[]", "3", "\xff"})
    expect_error(
        ErrorCode::invalid_argument, [&] { (void)read_plan_request(text); }, "the request");
}

// gpu4 to gpu7 are on the second socket.
TEST(PlanRequest, TakesTheHostNearestToTheGpuAtTheOtherEnd) {
  const PlanRequest request = read_plan_request(
      R"({"machine": "h200x8", "source": "host", "destination": "gpu7", "bytes": 4096})");

  EXPECT_EQ(request.machine.place(request.lane.source).name, "host1");
}

// The end of a request for several transfers.
JointPlanRequest joint_request(const std::string& more) {
  return read_joint_plan_request(R"({"machine": "beluga")" + more + "}");
}

TEST(JointPlanRequest, NamesTransfersInTheirOrder) {
  const JointPlanRequest request = joint_request(
      R"(, "transfers": [{"source": "gpu2", "destination": "gpu1", "bytes": 4096},
                         {"source": "host", "destination": "gpu0", "bytes": 8192}],
         "executor": "graph", "issuers": "processes")");

  EXPECT_EQ(request.pattern, "");
  EXPECT_TRUE(request.simulated);
  EXPECT_EQ(request.transfers, (std::vector<JointTransfer>{
                                   {PlaceId{2}, PlaceId{1}, 4096_B},
                                   {request.machine.find_place("host0"), PlaceId{0}, 8192_B}}));
  EXPECT_EQ(request.options.executor, Executor::graph);
  EXPECT_EQ(request.options.issuers, Issuers::processes);
}

TEST(JointPlanRequest, NamesAPattern) {
  const JointPlanRequest request = joint_request(R"(, "pattern": "ring", "bytes": 64, "gpus": 2)");

  EXPECT_EQ(request.pattern, "ring");
  EXPECT_EQ(request.transfers, (std::vector<JointTransfer>{{PlaceId{0}, PlaceId{1}, 64_B},
                                                           {PlaceId{1}, PlaceId{0}, 64_B}}));
  EXPECT_EQ(request.options.executor, std::nullopt);
  EXPECT_EQ(request.options.issuers, Issuers::one_thread);
}

TEST(JointPlanRequest, PointsAtTheFieldThatCannotBeUsed) {
  const auto refuse = [](const std::string& more, const std::string& complaint) {
    SCOPED_TRACE(more);
    expect_error(
        ErrorCode::invalid_argument, [&] { (void)joint_request(more); }, complaint);
  };

  refuse("", "the request has no 'transfers' (the field is required)");
  refuse(R"(, "transfers": [{"source": "gpu0", "bytes": 1}])",
         "the request: /transfers/0 has no 'destination'");
  refuse(R"(, "transfers": [{"source": "gpu0", "destination": "gpu1", "bytes": -1}])",
         "the request: /transfers/0/bytes is -1");
  refuse(R"(, "transfers": [], "bytes": 1)", "the request: /bytes is unknown");
  refuse(R"(, "pattern": "ring", "transfers": [])", "the request: /transfers is unknown");
  refuse(R"(, "pattern": "ring")", "the request has no 'bytes'");
  refuse(R"(, "pattern": "star", "bytes": 1)", "unknown pattern 'star' (there are ring, pairs");
  refuse(R"(, "pattern": "ring", "bytes": 1, "gpus": 0)", "the request: /gpus is 0");
  refuse(R"(, "pattern": "ring", "bytes": 1, "issuers": "nobody")",
         "issuers 'nobody' are unknown (they are one-thread, threads and processes)");
}

TEST(BenchRequest, HasItsDefaults) {
  const Request request = read_bench_request(
      R"({"machine": "", "operation": "put", "source": "gpu0", "destination": "gpu1",
          "sizes": [4096, 8192]})");

  EXPECT_EQ(request.machine, "");
  EXPECT_EQ(request.sizes, (std::vector<Bytes>{4096_B, 8192_B}));
  EXPECT_EQ(request.window, 1);
  EXPECT_TRUE(request.verify);
  EXPECT_EQ(request.repeats, 20);
}

TEST(BenchRequest, NeedsSizes) {
  expect_error(
      ErrorCode::invalid_argument,
      [] {
        (void)read_bench_request(
            R"({"operation": "put", "source": "gpu0", "destination": "gpu1", "sizes": []})");
      },
      "the request: /sizes is empty");
}

TEST(TuneRequest, IsForAllPairsAndExecutorsIfItNamesNone) {
  const TuneRequest request = read_tune_request(R"({"machine": "beluga", "sizes": [1048576]})");

  EXPECT_EQ(request.pairs.size(), 4U * 3U + 2U * 4U);
  EXPECT_EQ(request.executors, (std::vector{Executor::stream, Executor::graph}));
}

TEST(TuneRequest, PointsAtAPairThatIsNone) {
  expect_error(
      ErrorCode::invalid_argument,
      [] {
        (void)read_tune_request(
            R"({"machine": "beluga", "sizes": [4096], "pairs": [["gpu0", "gpu1"], ["gpu0"]]})");
      },
      "the request: /pairs/1 has 1 names");
}

}  // namespace
}  // namespace polypath::bench::requests_test
