#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "polypath.h"

namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr size_t kMiB = size_t{1} << 20;

// A context of a small machine, two buffers on it and a stream.
class CInterface : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(polypath_context_create_traced("beluga", &context_), POLYPATH_SUCCESS);
    ASSERT_EQ(polypath_allocate(context_, "gpu0", kBytes, &source_), POLYPATH_SUCCESS);
    ASSERT_EQ(polypath_allocate(context_, "gpu1", kBytes, &destination_), POLYPATH_SUCCESS);
    ASSERT_EQ(polypath_stream_create(context_, "gpu0", &stream_), POLYPATH_SUCCESS);
    auto* bytes = static_cast<unsigned char*>(source_);
    for (size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<unsigned char>(i * 31 + i / 4096);
  }
  void TearDown() override { EXPECT_EQ(polypath_context_destroy(context_), POLYPATH_SUCCESS); }

  [[nodiscard]] bool copied() const { return std::memcmp(source_, destination_, kBytes) == 0; }

  static constexpr size_t kBytes = 16 * kMiB;
  polypath_context* context_ = nullptr;
  void* source_ = nullptr;
  void* destination_ = nullptr;
  polypath_stream stream_ = 0;
};

TEST_F(CInterface, CopiesEveryByte) {
  const polypath_status status = polypath_copy(context_, destination_, source_, kBytes, stream_);
  ASSERT_EQ(polypath_stream_synchronize(context_, stream_), POLYPATH_SUCCESS);

  EXPECT_EQ(status, POLYPATH_SUCCESS);
  EXPECT_TRUE(copied());
}

TEST_F(CInterface, SaysHowACopyRuns) {
  polypath_executor native = POLYPATH_AUTO, graph = POLYPATH_AUTO;

  polypath_copy_with(context_, destination_, source_, kBytes, stream_, POLYPATH_NATIVE, &native);
  polypath_copy_with(context_, destination_, source_, kBytes, stream_, POLYPATH_GRAPH, &graph);
  polypath_statistics counted;
  ASSERT_EQ(polypath_get_statistics(context_, &counted), POLYPATH_SUCCESS);

  EXPECT_EQ(native, POLYPATH_NATIVE);
  EXPECT_EQ(graph, POLYPATH_GRAPH);
  EXPECT_EQ(counted.transfers, 2U);
  EXPECT_EQ(counted.native_copies, 1U);
  EXPECT_EQ(counted.graph_copies, 1U);
  EXPECT_EQ(counted.bytes, 2 * kBytes);
  EXPECT_GT(counted.staged_bytes, 0U);
}

TEST_F(CInterface, AStreamOfCudaIsNoStreamOfASimulatedMachine) {
  size_t enqueued = 7;
  const polypath_piece piece = {destination_, source_, kBytes};

  EXPECT_EQ(polypath_copy_on(context_, destination_, source_, kBytes, nullptr),
            POLYPATH_UNSUPPORTED);
  EXPECT_THAT(polypath_last_error(), HasSubstr("beluga is simulated"));
  EXPECT_EQ(polypath_copy_many_on(context_, &piece, 1, nullptr, &enqueued), POLYPATH_UNSUPPORTED);
  EXPECT_EQ(enqueued, 0U);
  EXPECT_EQ(polypath_copy_many_on(context_, nullptr, 1, nullptr, nullptr),
            POLYPATH_INVALID_ARGUMENT);
  EXPECT_THAT(polypath_last_error(), StartsWith("pieces is null"));
}

TEST_F(CInterface, CopyOfNothingSucceeds) {
  EXPECT_EQ(polypath_copy(context_, destination_, source_, 0, stream_), POLYPATH_SUCCESS);
}

TEST_F(CInterface, NullsAreNamed) {
  void* address = nullptr;

  EXPECT_EQ(polypath_allocate(nullptr, "gpu0", 1, &address), POLYPATH_INVALID_ARGUMENT);
  EXPECT_THAT(polypath_last_error(), StartsWith("context is null"));
  EXPECT_EQ(polypath_allocate(context_, nullptr, 1, &address), POLYPATH_INVALID_ARGUMENT);
  EXPECT_THAT(polypath_last_error(), StartsWith("place is null"));
  EXPECT_EQ(polypath_allocate(context_, "gpu0", 1, nullptr), POLYPATH_INVALID_ARGUMENT);
  EXPECT_THAT(polypath_last_error(), StartsWith("address is null"));
  EXPECT_EQ(polypath_copy(context_, nullptr, source_, 1, stream_), POLYPATH_INVALID_ARGUMENT);
  EXPECT_THAT(polypath_last_error(), StartsWith("destination is null"));
  EXPECT_EQ(polypath_context_create("beluga", nullptr), POLYPATH_INVALID_ARGUMENT);
  EXPECT_EQ(polypath_context_destroy(nullptr), POLYPATH_SUCCESS);
}

TEST_F(CInterface, BadArgumentsChangeNothing) {
  auto* bytes = static_cast<unsigned char*>(source_);

  EXPECT_EQ(polypath_copy(context_, destination_, source_, kBytes + 1, stream_),
            POLYPATH_INVALID_ARGUMENT);
  EXPECT_EQ(polypath_copy(context_, bytes + 8, bytes, 64, stream_), POLYPATH_INVALID_ARGUMENT);
  EXPECT_THAT(polypath_last_error(), HasSubstr("overlap"));
  EXPECT_EQ(polypath_copy(context_, destination_, &stream_, 8, stream_), POLYPATH_INVALID_ARGUMENT);
  EXPECT_EQ(polypath_copy(context_, destination_, source_, 8, stream_ + 1000),
            POLYPATH_INVALID_ARGUMENT);
  EXPECT_THAT(polypath_last_error(), HasSubstr(std::to_string(stream_ + 1000)));
  EXPECT_EQ(polypath_free(context_, bytes + 8), POLYPATH_INVALID_ARGUMENT);
  EXPECT_EQ(polypath_copy_with(context_, destination_, source_, 8, stream_,
                               static_cast<polypath_executor>(77), nullptr),
            POLYPATH_INVALID_ARGUMENT);

  EXPECT_EQ(polypath_copy(context_, destination_, source_, kBytes, stream_), POLYPATH_SUCCESS);
  EXPECT_EQ(polypath_stream_synchronize(context_, stream_), POLYPATH_SUCCESS);
  EXPECT_TRUE(copied());
}

TEST_F(CInterface, UnknownMachineListsTheZoo) {
  polypath_context* other = context_;

  const polypath_status status = polypath_context_create("belugaa", &other);

  EXPECT_EQ(status, POLYPATH_INVALID_ARGUMENT);
  EXPECT_EQ(other, nullptr);
  EXPECT_THAT(polypath_last_error(), HasSubstr("beluga"));
}

TEST_F(CInterface, PlanTellsHowMuchRoomItNeeds) {
  size_t needed = 0;
  ASSERT_EQ(polypath_plan(context_, "gpu0", "gpu1", kBytes, nullptr, 0, &needed), POLYPATH_SUCCESS);
  std::vector<char> json(needed);

  const auto too_small = polypath_plan(context_, "gpu0", "gpu1", kBytes, json.data(), 10, nullptr);
  const auto enough =
      polypath_plan(context_, "gpu0", "gpu1", kBytes, json.data(), json.size(), nullptr);

  EXPECT_EQ(too_small, POLYPATH_INVALID_ARGUMENT);
  EXPECT_EQ(enough, POLYPATH_SUCCESS);
  EXPECT_THAT(json.data(), HasSubstr("polypath.plan/1"));
}

TEST_F(CInterface, TraceIsWrittenToAFile) {
  const std::string path = testing::TempDir() + "polypath_capi_trace.json";
  polypath_copy(context_, destination_, source_, kBytes, stream_);

  const polypath_status status = polypath_trace(context_, path.c_str());
  const polypath_status bad = polypath_trace(context_, "/no/such/folder/trace.json");

  EXPECT_EQ(status, POLYPATH_SUCCESS);
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_THAT(text, HasSubstr("gpu0 -> gpu2"));
  EXPECT_EQ(bad, POLYPATH_INVALID_ARGUMENT);
}

// The file takes every byte until they are to go to the disk.
TEST_F(CInterface, ATraceThatDoesNotFitOnTheDiskIsAnError) {
  EXPECT_EQ(polypath_trace(context_, "/dev/full"), POLYPATH_INVALID_ARGUMENT);
}

TEST(CInterfaceWithoutTrace, FailedTraceLeavesTheFileAlone) {
  const std::string path = testing::TempDir() + "polypath_capi_kept.json";
  std::ofstream(path) << "kept";
  polypath_context* context = nullptr;
  ASSERT_EQ(polypath_context_create("beluga", &context), POLYPATH_SUCCESS);

  const polypath_status status = polypath_trace(context, path.c_str());

  std::string text;
  std::ifstream(path) >> text;
  EXPECT_EQ(status, POLYPATH_INVALID_ARGUMENT);
  EXPECT_EQ(text, "kept");
  EXPECT_EQ(polypath_context_destroy(context), POLYPATH_SUCCESS);
}

TEST_F(CInterface, ForkedChildCannotUseItsParentsContext) {
  const pid_t child = fork();
  if (child == 0) {
    double now = 0;
    void* made = nullptr;
    polypath_statistics counted;
    const polypath_status all[] = {
        polypath_copy(context_, destination_, source_, kBytes, stream_),
        polypath_now(context_, &now),
        polypath_allocate(context_, "gpu0", kBytes, &made),
        polypath_get_statistics(context_, &counted),
        polypath_stream_synchronize(context_, stream_),
        polypath_stream_destroy(context_, stream_),
        polypath_free(context_, source_),
    };
    const bool fail =
        std::ranges::all_of(all, [](polypath_status each) { return each == POLYPATH_UNSUPPORTED; });
    _exit(fail && polypath_context_destroy(context_) == POLYPATH_SUCCESS ? 0 : 1);
  }
  int exit_status = -1;
  ASSERT_EQ(waitpid(child, &exit_status, 0), child);

  EXPECT_TRUE(WIFEXITED(exit_status));
  EXPECT_EQ(WEXITSTATUS(exit_status), 0);
}

TEST_F(CInterface, ClockRunsWithTheWork) {
  double before = -1, after = -1;
  polypath_now(context_, &before);
  polypath_copy(context_, destination_, source_, kBytes, stream_);
  polypath_stream_synchronize(context_, stream_);

  polypath_now(context_, &after);

  // 16 MiB over at most four times 47.9 GB/s take at least 87 us.
  EXPECT_GT(after - before, 87e-6);
  EXPECT_LT(after - before, 1e-3);
}

}  // namespace
