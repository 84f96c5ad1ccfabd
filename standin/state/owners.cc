#include "standin/state/owners.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "standin/failure.h"

namespace polypath::standin {
namespace {

std::string lock_file(const Gpu& gpu) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  return (folder / fmt::format("standin-{}-{}", getuid(), uuid_text(gpu))).string();
}

// Unlike flock's, these locks are not those of a forked child.
bool lock(int file) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return fcntl(file, F_SETLK, &whole) == 0;
}

}  // namespace

void Owners::take(const Gpu& gpu) {
  if (!exclusive_) return;
  if (files_.contains(gpu.index))
    refuse(kDeviceUnavailable, "this process has a context on the exclusive GPU");
  const int file = open(lock_file(gpu).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || !lock(file)) {
    if (file >= 0) close(file);
    refuse(kDeviceUnavailable, "another process has a context on the exclusive GPU");
  }
  files_[gpu.index] = file;
}

void Owners::give_back(const Gpu& gpu) {
  const auto found = files_.find(gpu.index);
  if (found == files_.end()) return;
  close(found->second);
  files_.erase(found);
}

}  // namespace polypath::standin
