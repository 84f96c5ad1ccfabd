#pragma once
// Persistent calls on memory of GPUs, which a program makes once and starts again and again.
//
//   made   ─▶ all ranks agree whether it is ours; else MPI's own, with copies in the host
//   started ─▶ a non-blocking call (nonblocking.h) ─▶ over: the request is completed
//
// The program's request is one of MPI's: to receive an empty message from this rank itself, which
// is sent when the call is over. So all functions of MPI take it, and it is over when they say so.
// MPI does not say in which order ranks start several calls: each is announced by itself.

#include <memory>
#include <mutex>
#include <unordered_map>

#include "mpi/nonblocking.h"

namespace polypath::mpi {

/// Thread-safe.
class PersistentCalls {
 public:
  /// All must outlive it.
  PersistentCalls(const Library& library, const Open& open, GpuOf gpu_of,
                  NonblockingCalls& nonblocking);
  PersistentCalls(const PersistentCalls&) = delete;
  PersistentCalls& operator=(const PersistentCalls&) = delete;
  ~PersistentCalls();

  /// A call that all ranks have agreed on, after they have joined; `seat` is this rank's in its
  /// communicator. All ranks make it together. False: the arena has no room, at any rank.
  [[nodiscard]] bool make_ours(Arena& arena, Member& member, Seat seat, const Call& call, int gpu,
                               void* request);
  /// A call that `start` makes in MPI, with copies. Errors: those of HostCopies.
  [[nodiscard]] Result make_staged(const Call& call, int gpu, Fate fate, const RealStart& start,
                                   void* request);
  /// False: the request is none of these.
  [[nodiscard]] bool start(void* request);
  /// The program frees the request.
  void forget(Handle request) noexcept;
  /// The communicator is no more.
  void forget(const Member& member) noexcept;

 private:
  class Empty;
  struct Made;

  [[nodiscard]] Result keep(std::unique_ptr<Made> made, void* request);
  [[nodiscard]] bool has_self();

  const Library& library_;
  const Open& open_;
  GpuOf gpu_of_;
  NonblockingCalls& nonblocking_;
  std::mutex mutex_;  ///< guards the members below
  Handle self_ = 0;   ///< a communicator of this rank alone
  int next_tag_ = 0;
  std::unordered_map<Handle, std::unique_ptr<Made>> made_;
};

}  // namespace polypath::mpi
