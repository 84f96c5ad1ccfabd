#include "communicator/bootstrap/shared_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "communicator/bootstrap/ranks.h"
#include "core/descriptor.h"
#include "core/error.h"

namespace polypath::communicator {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;
constexpr off_t kMostLeft = off_t{1} << 30;  // as of a frame that goes by TCP

bool write_all(int file, const std::string& contents) {
  std::size_t written = 0;
  while (written < contents.size()) {
    const ssize_t more = write(file, contents.data() + written, contents.size() - written);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) return false;
    written += static_cast<std::size_t>(more);
  }
  return true;
}

[[noreturn]] void fail_to_write(const std::string& path) {
  fail(ErrorCode::communicator, fmt::format("'{}' cannot be written", path), std::strerror(errno),
       "Give a folder that all ranks may write to.");
}

[[noreturn]] void fail_to_read(const std::string& path, const char* why) {
  fail(ErrorCode::communicator, fmt::format("'{}' cannot be read", path), why,
       "Give a folder that nothing else uses.");
}

}  // namespace

bool make_folder(const std::string& path) {
  if (mkdir(path.c_str(), kFolderMode) == 0) return true;
  const int why = errno;
  struct stat about {};
  if (why == EEXIST && stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) return false;
  fail(ErrorCode::invalid_argument, fmt::format("'{}' cannot be a folder for ranks", path),
       std::strerror(why), "Give a folder that all ranks may write to.");
}

void leave_file(const std::string& path, const std::string& contents) {
  if (!may_write_files_of(contents.size()))
    fail(ErrorCode::communicator, fmt::format("'{}' cannot be written", path),
         "this process may not write files of that size (ulimit -f)");
  const std::string draft = path + "." + unique_name();
  bool complete = false;
  {
    const Descriptor file(open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode));
    if (!file.is_open()) fail_to_write(path);
    complete = write_all(file.get(), contents);
  }
  if (complete && rename(draft.c_str(), path.c_str()) == 0) return;
  const int why = errno;
  unlink(draft.c_str());
  errno = why;
  fail_to_write(path);
}

std::optional<std::string> read_left_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_open() && errno != ELOOP) return std::nullopt;
  struct stat about {};
  if (!file.is_open() || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode))
    fail_to_read(path, "it is no file that a rank has left there");
  if (about.st_size > kMostLeft) fail_to_read(path, "it is larger than what ranks leave");
  std::string contents;
  char part[4096];
  for (;;) {
    const ssize_t more = read(file.get(), part, sizeof part);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return std::nullopt;
    if (more == 0) return contents;
    contents.append(part, static_cast<std::size_t>(more));
  }
}

void remove_folder(const std::string& path) noexcept {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace polypath::communicator
