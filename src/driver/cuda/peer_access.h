#pragma once
// Peer access between contexts, as this process has it and as the program believes to have it.
//
// Polypath enables access that its copies need. The program may enable or disable the same access
// itself, before or after, and must get the answers that it would get alone: its own second
// enabling fails, its first one does not.

#include <functional>
#include <mutex>
#include <set>
#include <utility>

#include "driver/cuda/cuda_types.h"

namespace polypath::cuda {

/// Thread-safe. Calls of the driver are made with the lock held, so that no thread sees a state
/// between two of them.
class PeerAccess {
 public:
  /// Enables or disables access in the driver.
  using Call = std::function<Result()>;

  /// This process's, never destroyed.
  static PeerAccess& of_process();

  /// Polypath needs access from one context to another: as the call answers, but enabled already is
  /// success.
  Result enable(ContextPointer from, ContextPointer to, const Call& call);
  /// Polypath cannot use it: `call` takes it back, unless the program has it.
  void give_up(ContextPointer from, ContextPointer to, const Call& call);
  /// The program enables it. Returns the driver's answer as if Polypath were absent.
  Result program_enables(ContextPointer from, ContextPointer to, const Call& call);
  /// The program disables it. Access that Polypath needs stays.
  Result program_disables(ContextPointer from, ContextPointer to, const Call& call);
  /// The context ends, and with it all access from and to it.
  void forget(ContextPointer context);
  /// The context ends as far as the program can tell: Polypath holds it still.
  void program_forgets(ContextPointer context);

 private:
  using Pair = std::pair<ContextPointer, ContextPointer>;

  std::mutex mutex_;
  std::set<Pair> ours_;      ///< that Polypath needs, or keeps from a program that has gone on
  std::set<Pair> programs_;  ///< that the program believes to have
};

}  // namespace polypath::cuda
