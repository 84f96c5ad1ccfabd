#pragma once
// A window of this rank alone, in memory of the host. MPI carries out one-sided calls in it: so
// every type and every operation comes to what MPI makes of it.

#include <cstddef>
#include <functional>
#include <mutex>

#include "mpi/library.h"

namespace polypath::mpi {

/// Thread-safe as far as MPI is.
class SelfWindow {
 public:
  explicit SelfWindow(const Library& library) : library_(library) {}
  SelfWindow(const SelfWindow&) = delete;
  SelfWindow& operator=(const SelfWindow&) = delete;

  using Use = std::function<void(std::byte* memory)>;
  using Make = std::function<Result(Handle window)>;
  /// `make` is made while nothing else uses the first `bytes` bytes of the window; what it does is
  /// over when `take` finds it. If it fails, `take` is not called. Errors: out_of_memory of MPI;
  /// invalid_argument if that is more than any memory has.
  Result run(Count bytes, const Use& fill, const Make& make, const Use& take);
  /// Before MPI ends.
  void end() noexcept;

 private:
  void make_room(Count bytes);

  const Library& library_;
  std::mutex mutex_;  ///< guards the members below
  Handle window_ = 0;
  std::byte* memory_ = nullptr;
  Count bytes_ = 0;
};

}  // namespace polypath::mpi
