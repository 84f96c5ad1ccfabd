#pragma once
// One thread per process that looks at all work under way, as long as there is any.

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "core/background.h"

namespace polypath::communicator {

/// Something that is looked at.
class Watched {
 public:
  Watched() = default;
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  virtual ~Watched() = default;

  /// One look. False if nothing is under way. Must not throw.
  virtual bool look() noexcept = 0;
  /// True of something that is to be looked at now and then even if nothing is under way.
  [[nodiscard]] virtual bool needs_looks() noexcept { return false; }
};

class Watcher {
 public:
  /// The one of this process. Its thread ends with the last owner.
  static std::shared_ptr<Watcher> of_process();

  /// From now on, until it is gone.
  void add(std::weak_ptr<Watched> watched);
  /// Something is under way. Cheap if the thread is at work.
  void wake();

 private:
  void work();
  enum class Attention { none, seldom, often };

  [[nodiscard]] Attention look_at_all();
  /// True if no thread has woken it since it last asked.
  [[nodiscard]] bool may_rest();

  std::mutex mutex_;
  std::vector<std::weak_ptr<Watched>> watched_;
  bool working_ = false;
  bool woken_ = false;
  /// Last: it ends before the members that it uses. On a busy computer, too, an abort comes and is
  /// passed on.
  Background background_{Background::Priority::normal};
};

}  // namespace polypath::communicator
