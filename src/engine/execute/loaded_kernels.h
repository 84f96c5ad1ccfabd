#pragma once
// The kernels for small pieces (kernels/copy_pieces.h), loaded for the GPUs that run them.

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "driver/driver.h"
#include "machine/machine.h"

namespace polypath::engine {

/// Not thread-safe but for make(); the engine guards it.
class LoadedKernels {
 public:
  enum class State { missing, loading, ready, unusable };
  /// Those of one GPU, in the order of plan/pieces/piece_kernels.h; empty if they cannot be loaded.
  using OfGpu = std::vector<KernelHandle>;

  LoadedKernels(Driver& driver, const Machine& machine);
  LoadedKernels(const LoadedKernels&) = delete;
  LoadedKernels& operator=(const LoadedKernels&) = delete;
  /// Waits for those that run, and unloads all; leaves them loaded if it cannot wait.
  ~LoadedKernels();

  [[nodiscard]] State state_of(PlaceId gpu) const { return states_[gpu.index()]; }
  /// A thread is loading the GPU's kernels.
  void expect(PlaceId gpu) { states_[gpu.index()] = State::loading; }
  /// Loads them, or says why that is not possible. Touches nothing of this object.
  [[nodiscard]] OfGpu make(PlaceId gpu) const noexcept;
  void install(PlaceId gpu, OfGpu made);

  /// By number of plan/pieces/piece_kernels.h.
  [[nodiscard]] std::span<const KernelHandle> handles() const { return handles_; }
  /// One of them will be put into a stream of the program, which may go before it has run: makes
  /// what note_use needs. Errors of the driver.
  void expect_use(StreamHandle stream, PlaceId gpu);
  /// It was. Where the driver cannot record that, the stream is waited for; where not even that
  /// works, nothing is unloaded any more.
  void note_use(StreamHandle stream, PlaceId gpu) noexcept;

 private:
  void forget_finished();

  Driver& driver_;
  const Machine& machine_;
  std::vector<State> states_;                                     ///< by place
  std::vector<KernelHandle> handles_;                             ///< zero where there is none
  std::map<std::pair<StreamHandle, PlaceId>, EventHandle> uses_;  ///< the last one of each stream
  bool lost_ = false;
};

}  // namespace polypath::engine
