#include "mpi/self_window.h"

#include <fmt/format.h>

#include <bit>

#include "core/error.h"

namespace polypath::mpi {

// Some versions of Open MPI cannot make a window of one rank over memory that there is.
void SelfWindow::make_room(Count bytes) {
  constexpr Count kLeast = 1 << 16, kMost = Count{1} << 40;
  if (bytes <= bytes_) return;
  if (bytes > kMost)
    fail(ErrorCode::invalid_argument, "elements of a target lie too far from their displacement",
         fmt::format("{} bytes; their type may have absolute addresses", bytes),
         "Give the address as the displacement.");
  end();
  const auto wanted = static_cast<std::uint64_t>(std::max(bytes, kLeast));
  const auto size = static_cast<Count>(std::bit_ceil(wanted));
  if (library_.real.Win_allocate(size, 1, library_.no_info, library_.self,
                                 static_cast<void*>(&memory_), &window_) != kSuccess)
    fail(ErrorCode::out_of_memory, fmt::format("MPI has no {} bytes for a window", size), "",
         "Make one-sided calls of fewer elements.");
  bytes_ = size;
}

Result SelfWindow::run(Count bytes, const Use& fill, const Make& make, const Use& take) {
  const std::scoped_lock lock(mutex_);
  make_room(bytes);
  fill(memory_);
  const Functions& real = library_.real;
  const Handle window = library_.handle(window_);
  real.Win_lock(library_.lock_exclusive, 0, 0, window);
  const Result made = make(window);
  const Result ended = real.Win_unlock(0, window);
  if (made != kSuccess) return made;
  if (ended == kSuccess) take(memory_);
  return ended;
}

void SelfWindow::end() noexcept {
  if (bytes_ > 0) library_.real.Win_free(&window_);
  window_ = 0;
  bytes_ = 0;
}

}  // namespace polypath::mpi
