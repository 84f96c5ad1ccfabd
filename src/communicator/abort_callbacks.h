#pragma once
// The functions that are called once when a communicator is aborted.

#include <condition_variable>
#include <mutex>
#include <vector>

#include "communicator/communicator.h"

namespace polypath::communicator {

/// Thread-safe.
class AbortCallbacks {
 public:
  /// Calls it at once if the others have been called, or are being.
  void add(Communicator::Callback callback);
  /// Calls those that have not been called.
  void tell();
  /// Those that are not being called stay uncalled.
  void forget();
  /// Returns once no thread calls any of them: the objects behind them may then be destroyed.
  void await_told();

 private:
  std::mutex mutex_;
  std::condition_variable all_told_;
  std::vector<Communicator::Callback> callbacks_;
  bool told_ = false;  ///< they were called, or are being
  int telling_ = 0;    ///< threads that call them now
};

}  // namespace polypath::communicator
