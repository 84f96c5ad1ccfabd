#pragma once
// Other processes, for tests of what processes share: ones that are killed, stopped, limited, or
// live in namespaces of their own.

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "support/layers.h"

namespace polypath::test {

/// Which process numbers a child sees: those of everybody, or of a namespace of its own.
enum class Numbers { common, own };

namespace processes {

inline bool write_text(const char* path, const std::string& text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  return written;
}

/// Gives this process namespaces of its own, and the rights to use them, without a change of user.
inline bool enter_namespaces(int which) {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER | which) != 0) return false;
  (void)write_text("/proc/self/setgroups", "deny");
  return write_text("/proc/self/uid_map", fmt::format("{} {} 1", user, user)) &&
         write_text("/proc/self/gid_map", fmt::format("{} {} 1", group, group));
}

}  // namespace processes

/// A process that does some work and then waits to be killed.
class Child {
 public:
  /// Returns when the work is done.
  template <class Work>
  explicit Child(Work work, Numbers numbers = Numbers::common) : beside_(numbers == Numbers::own) {
    int ready[2], life[2];
    if (pipe2(ready, O_CLOEXEC) != 0 || pipe2(life, O_CLOEXEC) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      close(life[1]);
      beside_ ? work_beside(work, ready[1], life[0]) : work_here(work, ready[1]);
    }
    close(ready[1]), close(life[0]);
    char answer = 0;
    worked_ = read(ready[0], &answer, 1) == 1 && answer == 'y';
    close(ready[0]);
    life_ = life[1];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  /// False if it died of its work, or the system refuses it a namespace.
  [[nodiscard]] bool worked() const { return worked_; }
  [[nodiscard]] pid_t process() const { return pid_; }
  /// Kills it; returns when nothing is left of it.
  void end() {
    if (pid_ == 0) return;
    close(life_);
    // Beside a namespace's first process stands one that ends it when the pipe is closed.
    if (!beside_) ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  /// Stops it where it is.
  void stop() {
    ::kill(pid_, SIGSTOP);
    waitpid(pid_, nullptr, WUNTRACED);
  }

 private:
  template <class Work>
  [[noreturn]] void work_here(Work work, int ready) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    work();
    (void)!write(ready, "y", 1);
    for (;;) pause();
  }

  template <class Work>
  [[noreturn]] void work_beside(Work work, int ready, int life) {
    if (!processes::enter_namespaces(CLONE_NEWPID)) _exit(0);
    const pid_t first = fork();
    if (first == 0) work_here(work, ready);
    close(ready);
    char nothing = 0;
    (void)!read(life, &nothing, 1);
    ::kill(first, SIGKILL);
    waitpid(first, nullptr, 0);
    _exit(0);
  }

  bool beside_;  ///< in a namespace, whose first process another one has started
  pid_t pid_ = 0;
  int life_ = -1;
  bool worked_ = false;
};

/// What a process ends with that does the work: what it returns, or 128 and the signal that ended
/// it. SIGALRM ends it after half a minute.
template <class Work>
int exit_status_of(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(work());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// The same in a process that alone sees a small file system in memory at `path`, which must be a
/// folder. None if the system does not permit that.
template <class Work>
std::optional<int> exit_status_beside(const std::string& path, std::size_t bytes, Work work) {
  constexpr int kRefused = 77;
  const int status = exit_status_of([&] {
    const std::string options = fmt::format("size={},mode=0777", bytes);
    if (!processes::enter_namespaces(CLONE_NEWNS) ||
        mount("none", path.c_str(), "tmpfs", 0, options.c_str()) != 0)
      return kRefused;
    return work();
  });
  return status == kRefused ? std::nullopt : std::optional(status);
}

/// Writes to a new file until there is no room left.
inline void fill(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const std::string page(4096, 'x');
  while (write(file, page.data(), page.size()) > 0) {
  }
  close(file);
}

}  // namespace polypath::test
