#include "api/preload/ipc_registry.h"

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

// A plain file of this user. No other user can write to it, and it has no other name.
bool is_ours(int file) {
  struct stat about {};
  return fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
         about.st_nlink == 1 && (about.st_mode & kOthersMayWrite) == 0;
}

// An entry is smaller than what is ever written in parts.
bool write_all(int file, const std::string& bytes) {
  return ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
}

std::vector<std::string> names_in(const Descriptor& folder) {
  std::vector<std::string> names;
  const int again = openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* listing = again < 0 ? nullptr : fdopendir(again);
  if (listing == nullptr) return names;
  while (const dirent* entry = readdir(listing))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  closedir(listing);
  return names;
}

void remove(const Descriptor& folder, const std::string& name) {
  unlinkat(folder.get(), name.c_str(), 0);
}

std::optional<ExportedMemory> read(const Descriptor& folder, const std::string& name) {
  // Without O_NONBLOCK a pipe in place of the file would hold us up.
  const Descriptor file(
      openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open() || !is_ours(file.get())) return std::nullopt;
  std::string bytes(entry_size() + 1, '\0');  // one more than an entry has shows what is too long
  const ssize_t count = ::read(file.get(), bytes.data(), bytes.size());
  if (count < 0) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(count));
  return decode(bytes);
}

// "draft-SPACE-NUMBER-COUNT" is written by process NUMBER of that number space.
std::string drafts_of(std::uint64_t number_space) { return fmt::format("draft-{}-", number_space); }

// Under another name first: a reader finds a whole entry or none.
bool write(const Descriptor& folder, const ExportedMemory& memory) {
  static std::atomic<unsigned> counter{0};
  const std::string bytes = encode(memory);
  const std::string draft =
      fmt::format("{}{}-{}", drafts_of(memory.exporter.number_space), getpid(), counter++);
  if (!may_write_files_of(bytes.size())) return false;
  remove(folder, draft);  // of an earlier process with this number
  const Descriptor file(openat(folder.get(), draft.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                               S_IRUSR | S_IWUSR));
  if (!file.is_open()) return false;
  if (write_all(file.get(), bytes) &&
      renameat(folder.get(), draft.c_str(), folder.get(), entry_name(memory.handle).c_str()) == 0)
    return true;
  remove(folder, draft);
  return false;
}

// An entry of another number space cannot be judged from here.
bool is_stale(const Descriptor& folder, const std::string& name, const ProcessIdentity& self) {
  const std::string drafts = drafts_of(self.number_space);
  if (name.starts_with(drafts)) {
    const long long writer = std::strtoll(name.c_str() + drafts.size(), nullptr, 10);
    return access(fmt::format("/proc/{}", writer).c_str(), F_OK) != 0;
  }
  if (!name.ends_with(".ipc")) return false;  // another program's
  const auto entry = read(folder, name);
  if (!entry) return true;
  return entry->exporter.number_space == self.number_space && !is_alive(entry->exporter);
}

}  // namespace

IpcRegistry::IpcRegistry(const std::string& folder) : folder_(folder) {}

bool IpcRegistry::publish(const ExportedMemory& memory) {
  const Descriptor folder = folder_.open();
  if (!folder.is_open()) return false;
  if (write(folder, memory)) return true;
  withdraw(memory.handle);
  return false;
}

std::optional<ExportedMemory> IpcRegistry::find(const cuda::IpcHandle& handle) const {
  const Descriptor folder = folder_.open();
  if (!folder.is_open()) return std::nullopt;
  const auto entry = read(folder, entry_name(handle));
  if (!entry || entry->handle != handle || !is_alive(entry->exporter)) return std::nullopt;
  return entry;
}

void IpcRegistry::withdraw(const cuda::IpcHandle& handle) {
  const Descriptor folder = folder_.open();
  if (!folder.is_open()) return;
  const std::string name = entry_name(handle);
  const auto entry = read(folder, name);
  if (entry && entry->handle == handle && entry->exporter == this_process()) remove(folder, name);
}

int IpcRegistry::sweep() {
  const Descriptor folder = folder_.open();
  const auto self = this_process();
  if (!folder.is_open() || !self) return 0;
  int removed = 0;
  for (const std::string& name : names_in(folder))
    if (is_stale(folder, name, *self) && unlinkat(folder.get(), name.c_str(), 0) == 0) ++removed;
  return removed;
}

}  // namespace polypath::preload
