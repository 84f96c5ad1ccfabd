#include "core/standard_error.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

namespace polypath {
namespace {

struct Identity {
  bool open = false;
  dev_t device = 0;
  ino_t file = 0;
  bool operator==(const Identity&) const = default;
};

Identity identity_of_stderr() {
  struct stat now {};
  if (fstat(STDERR_FILENO, &now) != 0) return {};
  return {true, now.st_dev, now.st_ino};
}

// Before other constructors of the library, which may write.
[[gnu::init_priority(101)]] const Identity at_start = identity_of_stderr();

// A reader that has gone, a file at its limit and a terminal of another process group send signals,
// which end or stop a program that has written nothing.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigemptyset(&ours_);
    for (const int signal : std::array{SIGPIPE, SIGXFSZ, SIGTTOU}) sigaddset(&ours_, signal);
    sigpending(&pending_);
    pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;
  ~WithoutSignals() {
    take(SIGPIPE);
    take(SIGXFSZ);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  // A signal that was pending before is the program's.
  void take(int signal) const {
    if (sigismember(&pending_, signal) == 1) return;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    const timespec at_once{};
    while (sigtimedwait(&one, nullptr, &at_once) == -1 && errno == EINTR) continue;
  }

  sigset_t ours_, pending_, before_;
};

}  // namespace

void write_to_stderr(std::string_view text) noexcept {
  if (!at_start.open || identity_of_stderr() != at_start) return;
  const int error = errno;
  {
    const WithoutSignals guard;
    while (!text.empty()) {
      const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) break;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  errno = error;
}

}  // namespace polypath
