#pragma once
// Functions of the program that run in stream order, on a thread of the driver's own as with CUDA.

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

#include "standin/abi.h"

namespace polypath::standin {

/// Used under the lock that every call of the stand-in takes; functions run without it.
class HostFunctions {
 public:
  explicit HostFunctions(std::mutex& lock) : lock_(lock) {}

  /// Runs the function after those started before. What is in the stream must have finished.
  void start(StreamPointer stream, std::function<void()> function);
  /// Blocks, without the lock meanwhile, until the stream's functions have returned. What was
  /// looked up before must be looked up again.
  void finish(StreamPointer stream);
  [[nodiscard]] bool is_pending(StreamPointer stream) const { return pending_.contains(stream); }

 private:
  struct Task {
    StreamPointer stream;
    std::function<void()> function;
  };
  void work();

  std::mutex& lock_;
  std::condition_variable_any changed_;
  bool started_ = false;
  std::deque<Task> tasks_;
  std::map<StreamPointer, int> pending_;
};

}  // namespace polypath::standin
