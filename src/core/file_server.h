#pragma once
// Open files that a process hands to other processes of its user on this computer.
//
// The file of a GPU's memory cannot be opened in /proc, as those of other memory can: it has to be
// sent through a socket (SCM_RIGHTS). A thread of the process that has it answers those that ask.
// The socket has a name of the kernel's, in no folder, which is known in a network namespace only.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "core/descriptor.h"

namespace polypath {

/// Which server: random, so that it cannot be guessed. Plain bytes, to be sent.
using FileServerName = std::array<std::uint64_t, 2>;

/// Thread-safe.
class FileServer {
 public:
  /// The files of a number; none if there are no such files, as of 0. Called by the server's
  /// thread.
  using Open = std::function<std::vector<Descriptor>(std::uint64_t number)>;

  /// Answers from now on. Error (unsupported) if the system has no such sockets.
  explicit FileServer(Open open);
  FileServer(const FileServer&) = delete;
  FileServer& operator=(const FileServer&) = delete;
  /// Not in a forked child.
  ~FileServer();

  [[nodiscard]] const FileServerName& name() const { return name_; }

 private:
  void serve();
  void answer(const Descriptor& socket) const;
  [[nodiscard]] bool is_own(int socket) const;

  Open open_;
  FileServerName name_ = {};
  Descriptor listener_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

/// Asks a server for the files of a number; none if it does not answer within a second, or has
/// others than `count`.
std::vector<Descriptor> fetch_files(const FileServerName& server, std::uint64_t number,
                                    std::size_t count);

}  // namespace polypath
