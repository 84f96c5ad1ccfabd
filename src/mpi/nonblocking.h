#pragma once
// Non-blocking calls on memory of GPUs: MPI makes them with copies in the host.
//
//   the program begins one and gets a request ─▶ MPI's own call on the copies, with a request of
//   ours
//     ─▶ over: the result is copied back, and the program's request is completed
//
// The program's request is one that MPI only keeps (MPI_Grequest_start). It is completed while the
// program waits or asks for requests. MPI's own call goes on as MPI has it, whatever function the
// program is in, so that no rank waits for this one longer than it would.

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "mpi/memory.h"
#include "mpi/staging.h"

namespace polypath::mpi {

/// Begins the program's own call with other memory, and another place for the request.
using RealStart = std::function<Result(const void* send, void* receive, void* request)>;

/// Thread-safe.
class NonblockingCalls {
 public:
  NonblockingCalls(const Library& library, Open open, GpuOf gpu_of);
  NonblockingCalls(const NonblockingCalls&) = delete;
  NonblockingCalls& operator=(const NonblockingCalls&) = delete;
  ~NonblockingCalls();

  /// `request` is where the program wants its request. Errors: those of HostCopies.
  Result begin(const Call& call, const RealStart& start, void* request);
  /// False if there is none: then nothing here has to be called.
  [[nodiscard]] bool any() const { return count_.load(std::memory_order_relaxed) > 0; }
  /// Completes what is over.
  void go_on();

 private:
  struct Request;
  struct Running;

  [[nodiscard]] bool is_over(Running& running) const;

  const Library& library_;
  Open open_;
  GpuOf gpu_of_;
  std::atomic<int> count_{0};
  std::mutex mutex_;  ///< guards the member below
  std::deque<std::unique_ptr<Running>> running_;
};

}  // namespace polypath::mpi
