#pragma once
// The layer before a process's MPI: collective calls on memory of GPUs.
//
//   the program's call ─▶ memory of the host? MPI's, as it was called
//                      └▶ of a GPU: do all ranks pass such memory, in a call that we have?
//                           yes ─▶ Member::run        no ─▶ MPI's, with copies in the host
//
// MPI keeps the communicators. A Member lies beside each as an attribute, from its first collective
// call on.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_set>

#include "communicator/bootstrap/presence.h"
#include "mpi/counts.h"
#include "mpi/member.h"
#include "mpi/staging.h"

namespace polypath::mpi {

/// Thread-safe as far as MPI is.
class Layer {
 public:
  /// Machine and driver of this process, once they are needed. Errors of an opening: memory of GPUs
  /// is left to MPI.
  using Open = std::function<const Surroundings&()>;

  Layer(Library library, Open open, GpuOf ask)
      : library_(library), open_(std::move(open)), gpu_of_(ask) {}
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  /// MPI is about to be initialised by `make`. `joins`: this process has a driver of GPUs.
  Result init(bool joins, const std::function<Result()>& make);
  /// MPI is about to end.
  void finalize() noexcept;
  /// `real` makes the call with other memory.
  Result collective(const Call& call, const RealCall& real);

  [[nodiscard]] const Library& library() const { return library_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Seen;  ///< of a communicator

  void meet();
  [[nodiscard]] bool share_arena();
  [[nodiscard]] Seen& seen(Handle comm);
  [[nodiscard]] std::unique_ptr<Seen> look_at(Handle comm);
  [[nodiscard]] bool is_of_world(Handle comm, int size) const;
  [[nodiscard]] std::optional<int> gpu_of(const Side& side) const;
  [[nodiscard]] Result run_ours(Member& member, const Call& call, int gpu, const RealCall& real);
  [[nodiscard]] Result staged(const Call& call, Fate fate, const RealCall& real);
  void forget(Seen* seen) noexcept;
  static Result forget_attribute(Handle comm, int keyval, void* value, void* layer);

  Library library_;
  Open open_;
  GpuOf gpu_of_;
  Counts counts_;
  std::optional<RankPresence> presence_;
  std::optional<Arena> arena_;  ///< if all ranks of the job are on this computer, under Polypath
  int keyval_ = -1;
  std::atomic<std::uint64_t> freed_{
      0};             ///< communicators; remembered handles may mean others since
  std::mutex mutex_;  ///< guards the member below
  std::unordered_set<Seen*> all_;
};

}  // namespace polypath::mpi
