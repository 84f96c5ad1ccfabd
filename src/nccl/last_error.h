#pragma once
// What ncclGetLastError says of errors of ours.

#include <mutex>
#include <string>

namespace polypath::nccl {

/// Thread-safe.
class LastError {
 public:
  void note(const std::string& text) {
    const std::scoped_lock lock(mutex_);
    text_ = text;
  }
  /// The real library has had one since.
  void forget() { note({}); }
  /// Empty if there is none. Valid until this thread asks again.
  [[nodiscard]] const std::string& text() const {
    thread_local std::string own;
    const std::scoped_lock lock(mutex_);
    return own = text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

}  // namespace polypath::nccl
