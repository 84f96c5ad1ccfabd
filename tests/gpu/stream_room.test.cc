// Streams that are kept for ours: a context has them once, whoever says that it is new.

#include "driver/cuda/stream_room.h"

#include <gtest/gtest.h>

#include <set>

#include "driver/cuda/contexts.h"
#include "driver/cuda/cuda_api.h"

namespace polypath::cuda::stream_room_test {
namespace {

class GpuStreamRoom : public testing::Test {
 protected:
  void SetUp() override {
    const DriverLibrary& cuda = DriverLibrary::get();
    if (!cuda.problem.empty() || cuda.gpus == 0) GTEST_SKIP() << "there is no GPU here";
    context_ = contexts_.of(0);
    if (id_of(context_) == 0) GTEST_SKIP() << "the driver does not number contexts";
  }

  /// All that are spare, which stay so.
  std::set<StreamPointer> spare() {
    std::set<StreamPointer> streams;
    while (const StreamPointer stream = room_.take(context_)) streams.insert(stream);
    for (const StreamPointer stream : streams) room_.give(context_, stream);
    return streams;
  }

  StreamRoom& room_ = StreamRoom::of_process();
  Contexts contexts_{false};
  ContextPointer context_ = nullptr;
};

TEST_F(GpuStreamRoom, IsMadeOnce) {
  const std::set<StreamPointer> first = spare();
  ASSERT_FALSE(first.empty());

  // As when the program retains a context that was retained here before.
  room_.make(context_, StreamRoom::kBesideTheProgram);

  EXPECT_EQ(spare(), first);
}

TEST_F(GpuStreamRoom, IsNotMadeAnewWhileItsStreamsAreInUse) {
  const StreamPointer used = room_.take(context_);
  ASSERT_NE(used, nullptr);
  const std::set<StreamPointer> left = spare();

  room_.make(context_, StreamRoom::kBesideTheProgram);

  EXPECT_EQ(spare(), left);
  room_.give(context_, used);
}

}  // namespace
}  // namespace polypath::cuda::stream_room_test
