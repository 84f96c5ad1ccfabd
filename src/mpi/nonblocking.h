#pragma once
// Non-blocking calls that are the layer's: on memory of GPUs, or behind such a call of the same
// communicator.
//
//   the program begins it and gets a request ─▶ have all ranks announced it?
//     ─▶ on the GPU in its turn, or by MPI with copies in the host ─▶ over: the request is
//     completed
//
// The request is one of those that MPI only keeps (MPI_Grequest_start). Calls are begun on the GPU
// by a thread, so that other ranks' calls end even if this rank does something else. What needs MPI
// goes on when the program waits for something in it: that thread must not call MPI.

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "mpi/counts.h"
#include "mpi/kept_request.h"
#include "mpi/own_call.h"
#include "mpi/staging.h"

namespace polypath::mpi {

/// Begins the program's own call on a communicator of the same ranks, with other memory, and
/// another place for the request.
using RealStart =
    std::function<Result(Handle comm, const void* send, void* receive, void* request)>;

struct NonblockingCall {
  Call call;
  RealStart start;
  Member* member = nullptr;  ///< null: MPI's, without other ranks being asked
  Buffers buffers = Buffers::device;
  int gpu = -1;                    ///< of its memory; negative: it has none there
  Fate fate = Fate::communicator;  ///< if it is not ours
  /// Of a call that is started again and again (persistent.h): where it is announced, if it is
  /// ours, and else its copies.
  Announcements* announcements = nullptr;
  std::shared_ptr<HostCopies> copies = nullptr;
};

/// Thread-safe.
class NonblockingCalls {
 public:
  NonblockingCalls(const Library& library, Open open, GpuOf gpu_of, Turns& turns, Counts& counts);
  NonblockingCalls(const NonblockingCalls&) = delete;
  NonblockingCalls& operator=(const NonblockingCalls&) = delete;
  ~NonblockingCalls();

  /// `request` is where the program wants its request.
  Result begin(NonblockingCall call, void* request);
  /// The same with a request that the program has.
  void begin(NonblockingCall call, std::unique_ptr<ProgramRequest> request);
  /// The error of a call that is over, once, if its request could not hold it.
  [[nodiscard]] Result take_error() { return error_.exchange(kSuccess); }
  /// False if there is none, and no error to take: then nothing here has to be called.
  [[nodiscard]] bool any() const {
    return count_.load(std::memory_order_relaxed) > 0 || error_ != kSuccess;
  }
  /// Begins what can be begun, and completes what is over. Does nothing where it is called by what
  /// it calls itself.
  void go_on();
  /// True while calls of the communicator have not been begun.
  [[nodiscard]] bool has_not_begun(const Member& member);
  /// True while calls of the communicator are not over.
  [[nodiscard]] bool is_any_of(const Member& member);

 private:
  struct Running;

  void begin_all_in_mpi();
  void begin_in_mpi(Running& running);
  [[nodiscard]] bool is_over(Running& running);
  [[nodiscard]] bool is_over_in_mpi(Running& running) const;
  void fail(Running& running, const char* why) const noexcept;
  void complete(Running& running);

  const Library& library_;
  Open open_;
  GpuOf gpu_of_;
  Turns& turns_;
  Counts& counts_;
  std::atomic<int> count_{0};
  std::atomic<Result> error_{kSuccess};
  std::recursive_mutex mutex_;  ///< guards the members below
  bool goes_on_ = false;
  std::deque<std::unique_ptr<Running>> running_;  ///< in the order of the program's calls
};

}  // namespace polypath::mpi
