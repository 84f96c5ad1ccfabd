#pragma once
// The layer before a process's MPI: collective calls on memory of GPUs, and one-sided ones
// (windows.h).
//
//   the program's call ─▶ memory of the host? MPI's, as it was called
//                      └▶ of a GPU: do all ranks pass such memory, in a call that we have?
//                           yes ─▶ OwnCall            no ─▶ MPI's, with copies in the host
//
// MPI keeps the communicators. A Member lies beside each as an attribute. An MPI that takes memory
// of GPUs itself gets it as it is.

#include <functional>
#include <memory>
#include <string>

#include "mpi/blocking_calls.h"
#include "mpi/calls_aside.h"
#include "mpi/counts.h"
#include "mpi/known_communicators.h"
#include "mpi/node_of_job.h"
#include "mpi/nonblocking.h"
#include "mpi/persistent.h"
#include "mpi/windows.h"

namespace polypath::mpi {

/// Thread-safe as far as MPI is.
class Layer {
 public:
  /// With `raises_threads` MPI is initialised for MPI_THREAD_MULTIPLE even if the program asks for
  /// less.
  Layer(Library library, Open open, GpuOf ask, NodeOfJob job, bool raises_threads);
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  using Make = std::function<Result(int level)>;
  /// MPI is about to be initialised by `make`, for this level of threads or a higher one. `joins`:
  /// this process has a driver of GPUs.
  Result init(bool joins, int level, const Make& make);
  /// MPI is about to end.
  void finalize() noexcept;
  /// A communicator has been made, which all its ranks are about to know; it may be MPI_COMM_NULL.
  void note_made(Handle comm);
  /// Tells the other ranks of a call on memory that is the host's without a question, and is quick.
  /// The call is MPI's then; false: it is to be described. `blocks`: the program has no request.
  [[nodiscard]] bool is_plain_call(Handle comm, const void* send, const void* receive, bool blocks);
  /// `real` makes the call with other memory.
  Result collective(const Call& call, const RealCall& real);
  /// The same for a non-blocking call, whose request is to be at `request`.
  Result begin(const Call& call, RealStart start, void* request);
  /// The same for a persistent call, which `start` makes in MPI.
  Result make_persistent(const Call& call, const RealStart& start, void* request);
  /// Starts a persistent call of the layer's; false: the request is none of these.
  [[nodiscard]] bool start(void* request) { return persistent_.start(request); }
  /// The program frees a request.
  void forget_request(Handle request) { persistent_.forget(request); }
  /// The error of a call that is over, once, if its request could not hold it.
  [[nodiscard]] Result take_error() { return nonblocking_.take_error(); }
  /// True if requests of the layer's may be among those that the program waits for.
  [[nodiscard]] bool has_requests() const { return nonblocking_.any() || aside_.any(); }
  /// For a program that waits: calls go on, and MPI with them.
  void go_on();

  /// One-sided calls.
  [[nodiscard]] Windows& windows() { return windows_; }
  [[nodiscard]] const Windows& windows() const { return windows_; }
  [[nodiscard]] const Library& library() const { return library_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  void meet();
  /// Whether all ranks pass memory of GPUs in a call that we have, and have joined.
  [[nodiscard]] bool agree(Member& member, const Call& call, const Passed& mine);
  Result begin_among_nodes(const Call& call, Member& member, RealStart start, void* request);
  [[nodiscard]] Result error(const Call& call, const char* why) const;
  void end(Member& member) noexcept;

  Library library_;
  Open open_;
  NodeOfJob job_;
  bool raises_threads_;
  Counts counts_;
  KnownCommunicators communicators_;
  Turns turns_;
  BlockingCalls blocking_;
  NonblockingCalls nonblocking_;
  CallsAside aside_;
  PersistentCalls persistent_;
  Windows windows_;
};

}  // namespace polypath::mpi
