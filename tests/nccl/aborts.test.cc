// Communicators that a program aborts.

#include <gmock/gmock.h>

#include <atomic>

#include "nccl/support/nccl_layer.h"

namespace polypath::test::nccl_aborts_test {
namespace {

using namespace nccl_layer;
using nccl::kRemoteError;
using nccl::Result;
using testing::HasSubstr;

// Rank 0 aborts in place of a call that the others have made.
TEST_F(NcclLayer, AnAbortOfOneRankIsAnAsynchronousErrorOfAll) {
  const CollectiveRequest request = request_of(Collective::all_reduce, 1000);
  RankBuffers buffers(toy_.driver(), request);
  buffers.fill();
  std::atomic<int> errors = 0;
  const UniqueId id = toy_.unique_id();

  on_threads([&](int rank) {
    Comm const comm = joined(layer_, id, rank);
    const StreamHandle stream = toy_.driver().create_stream(gpus_[index(rank)]);
    const Rank here{rank, comm, stream, reinterpret_cast<Stream>(stream.value)};
    Result error = kSuccess;
    EXPECT_EQ(layer_.async_error(comm, &error), kSuccess);
    EXPECT_EQ(error, kSuccess);
    if (rank != 0)
      EXPECT_EQ(layer_.collective(call_of(here, Operation::all_reduce, request, buffers)),
                kSuccess);
    made_.arrive_and_wait();
    if (rank == 0) EXPECT_EQ(layer_.abort(comm), kSuccess);
    while (rank != 0 && error == kSuccess) (void)layer_.async_error(comm, &error);
    errors += error == kRemoteError ? 1 : 0;
    if (rank != 0) EXPECT_THAT(layer_.last_error(comm), HasSubstr("Rank 0 has "));
    if (rank != 0) EXPECT_EQ(layer_.abort(comm), kSuccess);
    toy_.driver().destroy_stream(stream);
  });

  EXPECT_EQ(errors, kRanks - 1);
}

// The driver cannot say whether a rank's work is over.
TEST_F(NcclLayer, AnAbortIsOneThoughTheDriverFails) {
  const UniqueId id = toy_.unique_id();

  on_threads([&](int rank) {
    Comm const comm = joined(layer_, id, rank);
    made_.arrive_and_wait();
    if (rank == 0) toy_.driver().fail_from(sim::Call::is_done, 1);
    made_.arrive_and_wait();
    EXPECT_EQ(layer_.abort(comm), kSuccess);
  });

  toy_.driver().clear_faults();
}

sim::SimDriver* freeing = nullptr;
std::atomic<int> freed_at_aborts = 0;

// The driver may wait for NCCL's kernels when memory is freed, and these for NCCL's abort.
TEST_F(NcclLayer, AnAbortIsNcclsBeforeMemoryIsGivenBack) {
  freeing = &toy_.driver();
  nccl::Functions real = ToyNccl::functions();
  real.CommAbort = [](Comm comm) {
    freed_at_aborts = freeing->uses(sim::Call::free);
    return ToyNccl::functions().CommAbort(comm);
  };
  Layer layer(real, [&](GpusOf) -> const nccl::Surroundings& { return around_; },
              {.most_measured = 512_KiB});
  const UniqueId id = toy_.unique_id();

  on_threads([&](int rank) {
    Comm const comm = joined(layer, id, rank);
    made_.arrive_and_wait();
    const int before = freeing->uses(sim::Call::free);
    made_.arrive_and_wait();
    if (rank == 0) EXPECT_EQ(layer.abort(comm), kSuccess);
    if (rank == 0) EXPECT_EQ(freed_at_aborts, before);
    if (rank == 0) EXPECT_GT(freeing->uses(sim::Call::free), before);
    made_.arrive_and_wait();
    if (rank != 0) EXPECT_EQ(layer.abort(comm), kSuccess);
  });
}

}  // namespace
}  // namespace polypath::test::nccl_aborts_test
