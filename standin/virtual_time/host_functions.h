#pragma once
// Functions of the program that run in stream order, on a thread of the driver's own as with CUDA.

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

#include "driver/driver.h"

namespace polypath::standin {

class HostFunctions {
 public:
  /// Runs the function after those started before. The work in the stream must have finished.
  void start(StreamHandle stream, std::function<void()> function);
  /// Blocks until the functions that the stream has now, and those started meanwhile, have
  /// returned.
  void finish(StreamHandle stream);
  [[nodiscard]] bool is_pending(StreamHandle stream) const;

 private:
  struct Task {
    StreamHandle stream;
    std::function<void()> function;
  };
  void work();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  std::deque<Task> tasks_;
  std::map<StreamHandle, int> pending_;
};

}  // namespace polypath::standin
