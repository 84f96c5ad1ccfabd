#include "core/user_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace polypath {
namespace {

constexpr mode_t kOthersMayAnything = S_IRWXG | S_IRWXO;

bool is_writable_folder(const char* path) {
  struct stat about {};
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode) && access(path, W_OK | X_OK) == 0;
}

// Where a relative path leads may change from one opening to the next.
bool is_absolute(const std::string& path) { return path.starts_with('/'); }

// Makes the folder if it is not there.
Descriptor open_folder(const std::string& path) {
  if (!is_absolute(path)) return {};
  if (mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) return {};
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Straight after open_folder.
std::string problem_with(const Descriptor& folder, const std::string& path) {
  if (path.empty()) return "there is no folder for it (no /dev/shm, no XDG_RUNTIME_DIR)";
  if (!is_absolute(path)) return fmt::format("{} does not begin at the root", path);
  struct stat about {};
  if (!folder.is_open() || fstat(folder.get(), &about) != 0)
    return fmt::format("{} cannot be opened as a folder ({})", path, std::strerror(errno));
  if (about.st_uid != geteuid()) return fmt::format("{} belongs to somebody else", path);
  if ((about.st_mode & kOthersMayAnything) != 0) return fmt::format("{} is open to others", path);
  return {};
}

}  // namespace

std::string usual_user_folder() {
  const auto below = [](const char* path) {
    return fmt::format("{}/polypath-{}", path, geteuid());
  };
  if (is_writable_folder("/dev/shm")) return below("/dev/shm");
  const char* own = std::getenv("XDG_RUNTIME_DIR");
  return own != nullptr && own[0] == '/' && is_writable_folder(own) ? below(own) : "";
}

UserFolder::UserFolder(std::string path)
    : path_(std::move(path)), problem_(problem_with(open_folder(path_), path_)) {}

Descriptor UserFolder::open() const {
  Descriptor folder = open_folder(path_);
  return problem_with(folder, path_).empty() ? std::move(folder) : Descriptor();
}

}  // namespace polypath
