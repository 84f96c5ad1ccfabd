#pragma once
// Which GPUs may reach each other's memory, between which of their contexts, and whether bytes
// arrive there.

#include <array>
#include <atomic>
#include <mutex>

#include "driver/cuda/contexts.h"
#include "driver/cuda/peer_check.h"

namespace polypath::cuda {

/// Thread-safe.
class PeerLinks {
 public:
  /// `allowed`: whether GPUs may be given access to each other's memory.
  PeerLinks(Contexts& contexts, bool allowed);

  /// True if the GPU can reach the other one's memory and may.
  [[nodiscard]] bool reaches(int from, int to) const;
  /// Lets two GPUs reach each other's memory, as far as they can and bytes arrive; nothing happens
  /// the second time. Where that has not been seen since the computer was started, it is looked at
  /// now.
  void connect(int a, int b);
  /// The same for copies in the program's streams between memories of its own.
  void connect_programs(int a, int b);
  /// Lets streams of ours on one connected GPU reach the program's memory on the other one.
  void reach(int from, int to);
  /// As connect(), for callers that depend on it. Error (driver) if bytes do not arrive.
  void require(int a, int b);
  /// Notes that bytes do not arrive, as seen elsewhere.
  void note_lost(int a, int b);

 private:
  void verify(int a, int b);
  void open(int a, int b);
  [[nodiscard]] bool open_unseen(int a, int b);
  [[nodiscard]] Arrival look(int from, int to);
  void enable_both(int a, int b);
  void enable_made(int a, int b);
  void disable(ContextPointer from, ContextPointer to) const;
  void enable(ContextPointer from, ContextPointer to) const;
  [[nodiscard]] bool can_reach(int from, int to) const;

  const Functions& cuda_;
  Contexts& contexts_;
  bool allowed_;
  using Pairs = std::array<std::array<std::atomic<bool>, kMostGpus>, kMostGpus>;
  std::mutex connecting_;
  Pairs connected_{};
  Pairs enabled_{};   ///< between contexts of ours that have been made
  Pairs programs_{};  ///< the same of the program's contexts, where ours are others
  Pairs reached_{};   ///< streams of ours reach the program's memory
  Pairs lost_{};      ///< bytes do not arrive, or it could not be tried
};

}  // namespace polypath::cuda
