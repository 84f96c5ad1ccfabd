// Blocks of a buffer that are asked for together: what is measured, and what is refused.

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "bench/pieces.h"
#include "core/error.h"

namespace polypath::bench::many_test {
namespace {

Request request_for(int pieces, Bytes bytes) {
  Request request;
  request.machine = "h200x4";
  request.operation = "many";
  request.source = "host", request.destination = "gpu0";
  request.sizes = {bytes};
  request.pieces = pieces;
  return request;
}

Result measured(const Request& request) {
  const OpenMachine opened = open_machine(request.machine, request.settings);
  return measure_all(opened, request, nullptr).front();
}

std::string refusal_of(const Request& request) {
  try {
    (void)measured(request);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "none";
}

// Plans are made for 256 pieces. Of 512 a GPU may get half a piece more than twice its share of
// those. What the host's memory carries more at first is counted twice then, into the host.
TEST(ManyBlocks, GainAsPredicted) {
  for (const Bytes bytes : {64_KiB, 1_MiB})
    for (const bool in : {true, false}) {
      Request request = request_for(512, bytes);
      if (!in) std::swap(request.source, request.destination);
      request.verify = false;

      const Result result = measured(request);

      EXPECT_GE(result.native_seconds / result.seconds, 1.5) << bytes.value;
      EXPECT_NEAR(result.predicted / result.seconds, 1, in ? 0.04 : 0.08) << bytes.value;
      EXPECT_EQ(result.copies, 512);
    }
}

// The plan of the first of them is no prediction of all.
TEST(ManyBlocks, ThatAreLargeAreNotPredicted) {
  Request request = request_for(64, 16_MiB);
  request.verify = false;

  const Result result = measured(request);

  EXPECT_EQ(result.plan->bytes, 16_MiB);
  EXPECT_TRUE(std::isnan(result.predicted.value));
}

TEST(ManyBlocks, AreVerified) {
  const Result result = measured(request_for(96, 64_KiB));

  EXPECT_TRUE(result.verified);
  EXPECT_EQ(result.executor, Executor::stream);
}

TEST(ManyBlocks, ThatGoNativelyTakeWhatIsPredicted) {
  Request request = request_for(8, 4_KiB);
  request.window = 3;

  const Result result = measured(request);

  EXPECT_TRUE(result.verified);
  EXPECT_EQ(result.executor, Executor::native);
  EXPECT_NEAR(result.seconds / result.native_seconds, 1, 1e-9);
  EXPECT_NEAR(result.predicted / result.seconds, 1, 0.01);
}

TEST(ManyBlocks, GoToEveryBlockOnce) {
  for (std::size_t pieces = 1; pieces < 200; ++pieces) {
    std::set<std::size_t> blocks;
    for (std::size_t piece = 0; piece < pieces; ++piece) blocks.insert(block_of(piece, pieces));

    EXPECT_EQ(blocks.size(), pieces);
    EXPECT_LT(*blocks.rbegin(), pieces);
  }
}

TEST(ManyBlocks, OfNoUseAreRefused) {
  EXPECT_NE(refusal_of(request_for(0, 1_MiB)).find("0 pieces cannot be used"), std::string::npos);
  EXPECT_NE(refusal_of(request_for(65537, 1_MiB)).find("from 1 to 65536"), std::string::npos);
  for (const Bytes bytes : {64_GiB, Bytes{1ULL << 62}})
    EXPECT_NE(refusal_of(request_for(512, bytes)).find("may have"), std::string::npos);
  Request unsaid = request_for(512, 1_GiB);
  unsaid.pieces.reset();
  EXPECT_NE(refusal_of(unsaid).find("512 pieces of 1G"), std::string::npos);
}

TEST(ManyBlocks, AreOfOneOperationOnly) {
  Request request = request_for(4, 1_MiB);
  request.operation = "h2d";

  EXPECT_NE(refusal_of(request).find("operation 'h2d' has no pieces"), std::string::npos);
}

TEST(ManyBlocks, WithinOnePlaceAreRefused) {
  Request request = request_for(4, 1_MiB);
  request.source = "gpu0";

  EXPECT_NE(refusal_of(request).find("both gpu0"), std::string::npos);
}

}  // namespace
}  // namespace polypath::bench::many_test
