#include "preload/ipc_registry.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace polypath::preload {
namespace {

constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;

/// A file descriptor that closes itself.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  [[nodiscard]] int get() const { return descriptor_; }
  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

// A plain file of this user's, that nobody else can write to and that has no other name.
bool is_ours(int file) {
  struct stat about {};
  return fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
         about.st_nlink == 1 && (about.st_mode & kOthersMayWrite) == 0;
}

// An entry is smaller than what is ever written in parts.
bool write_all(int file, const std::string& bytes) {
  return ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* listing = again < 0 ? nullptr : fdopendir(again);
  if (listing == nullptr) return names;
  while (const dirent* entry = readdir(listing))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  closedir(listing);
  return names;
}

}  // namespace

IpcRegistry::IpcRegistry(const std::string& folder) : folder_(folder) {}

bool IpcRegistry::publish(const ExportedMemory& memory) {
  return problem().empty() && write(entry_name(memory.handle), encode(memory));
}

// Under another name first: whoever reads finds a whole entry or none.
bool IpcRegistry::write(const std::string& name, const std::string& bytes) const {
  static std::atomic<unsigned> counter{0};
  const std::string draft = fmt::format("draft-{}-{}", getpid(), counter++);
  unlinkat(folder_.descriptor(), draft.c_str(), 0);  // of an earlier process with this number
  const File file(openat(folder_.descriptor(), draft.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.is_open()) return false;
  if (write_all(file.get(), bytes) &&
      renameat(folder_.descriptor(), draft.c_str(), folder_.descriptor(), name.c_str()) == 0)
    return true;
  unlinkat(folder_.descriptor(), draft.c_str(), 0);
  return false;
}

std::optional<ExportedMemory> IpcRegistry::read(const std::string& name) const {
  // Without O_NONBLOCK a pipe in place of the file would hold us up.
  const File file(
      openat(folder_.descriptor(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open() || !is_ours(file.get())) return std::nullopt;
  std::string bytes(entry_size() + 1, '\0');  // one more than an entry has shows what is too long
  const ssize_t count = ::read(file.get(), bytes.data(), bytes.size());
  if (count < 0) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(count));
  return decode(bytes);
}

std::optional<ExportedMemory> IpcRegistry::find(const cuda::IpcHandle& handle) const {
  if (!problem().empty()) return std::nullopt;
  const auto entry = read(entry_name(handle));
  if (!entry || entry->handle != handle || !is_alive(entry->exporter)) return std::nullopt;
  return entry;
}

void IpcRegistry::withdraw(const cuda::IpcHandle& handle) {
  if (!problem().empty()) return;
  const std::string name = entry_name(handle);
  const auto entry = read(name);
  if (entry && entry->handle == handle && entry->exporter == this_process())
    unlinkat(folder_.descriptor(), name.c_str(), 0);
}

// What a process of another number space has written cannot be judged from here.
bool IpcRegistry::is_stale(const std::string& name) const {
  if (name.starts_with("draft-")) {
    const long long writer = std::atoll(name.c_str() + std::strlen("draft-"));
    return access(fmt::format("/proc/{}", writer).c_str(), F_OK) != 0;
  }
  if (!name.ends_with(".ipc")) return false;  // somebody else's
  const auto entry = read(name);
  if (!entry) return true;
  const auto self = this_process();
  return self && entry->exporter.number_space == self->number_space && !is_alive(entry->exporter);
}

int IpcRegistry::sweep() {
  if (!problem().empty()) return 0;
  int removed = 0;
  for (const std::string& name : names_in(folder_.descriptor()))
    if (is_stale(name) && unlinkat(folder_.descriptor(), name.c_str(), 0) == 0) ++removed;
  return removed;
}

}  // namespace polypath::preload
