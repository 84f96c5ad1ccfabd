#include "core/shared_pages.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/files.h"

namespace polypath {
namespace {

constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;

[[noreturn]] void fail_to_make(std::uint64_t bytes, int error) {
  const bool missing = error == ENOSYS || error == EINVAL;
  fail(missing ? ErrorCode::unsupported : ErrorCode::out_of_memory,
       fmt::format("{} bytes of memory for several processes cannot be made", bytes),
       std::strerror(error),
       missing ? "Use Linux 3.17 or later."
               : "Raise the limits of memory and of open files, or lower "
                 "POLYPATH_COLLECTIVE_SCRATCH.");
}

[[noreturn]] void fail_to_open(const SharedPages::Name& name, const char* why, const char* what) {
  fail(ErrorCode::driver, fmt::format("memory of process {} cannot be opened", name.owner.number),
       why, what);
}

[[noreturn]] void fail_because_gone(const SharedPages::Name& name) {
  fail_to_open(name, "it has freed it, or has ended", "Let it live as long as it is used.");
}

// It is checked only after a failure: opening asks the system the same.
[[noreturn]] void fail_to_open(const SharedPages::Name& name, int error) {
  const auto self = this_process();
  if (self && self->number_space != name.owner.number_space)
    fail_to_open(name, "it is in another container",
                 "Let the containers have one namespace of processes (--pid).");
  if (error == EACCES || error == EPERM)
    fail_to_open(name, "it belongs to another user, or its memory is closed to others",
                 "Run all as one user.");
  if (error == ENOENT || error == ESRCH) fail_because_gone(name);
  fail_to_open(name, std::strerror(error), "Raise the limit of open files.");
}

// The memory that the system could give without taking it from a process; none where it does not
// say.
std::optional<std::uint64_t> available() {
  constexpr std::string_view kLine = "MemAvailable:";
  const auto text = read_file("/proc/meminfo", 65536);
  const std::size_t at = text ? text->find(kLine) : std::string::npos;
  if (at == std::string::npos) return std::nullopt;
  return std::strtoull(text->c_str() + at + kLine.size(), nullptr, 10) * 1024;
}

// The pages are allocated before a process maps them: if memory ran out later, there would be a
// signal. Such a file has no limit of its own: for one that is too large the system would end
// processes, not refuse it.
int room_for(int file, std::uint64_t bytes) {
  if (const auto most = available(); most && bytes > *most) return ENOMEM;
  int error = 0;
  do error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  while (error == EINTR);
  if (error != 0) return error;
  return fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 ? 0 : errno;
}

}  // namespace

std::unique_ptr<SharedPages> SharedPages::make(Bytes bytes) {
  const int file = memfd_create("polypath", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) fail_to_make(bytes.value, errno);
  Name name{
      .owner = this_process().value_or(ProcessIdentity{}), .file = file, .bytes = bytes.value};
  struct stat about {};
  int error = room_for(file, bytes.value);
  if (error == 0 && fstat(file, &about) != 0) error = errno;
  name.device = about.st_dev, name.number = about.st_ino;
  std::unique_ptr<SharedPages> pages;
  if (error == 0) pages.reset(new SharedPages(file, name));
  else close(file);
  if (!pages || pages->begin_ == nullptr) fail_to_make(bytes.value, error != 0 ? error : ENOMEM);
  return pages;
}

std::unique_ptr<SharedPages> SharedPages::open(const Name& name) {
  const auto path = fmt::format("/proc/{}/fd/{}", name.owner.number, name.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) fail_to_open(name, errno);
  struct stat about {};
  const bool is_it = fstat(file, &about) == 0 && about.st_dev == name.device &&
                     about.st_ino == name.number &&
                     static_cast<std::uint64_t>(about.st_size) == name.bytes;
  if (!is_it) {
    close(file);
    fail_because_gone(name);
  }
  std::unique_ptr<SharedPages> pages(new SharedPages(file, name));
  if (pages->begin_ == nullptr) fail_to_open(name, ENOMEM);
  return pages;
}

// One large page more of addresses than needed, so that the first byte can be at the beginning of
// one. begin_ is null if there is no room.
SharedPages::SharedPages(int file, const Name& name) : file_(file), name_(name) {
  const std::size_t wanted = name.bytes + kLargePage;
  void* mapping = mmap(nullptr, wanted, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return;
  mapping_ = mapping, mapped_ = wanted;
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(mapping);
  auto* const at = reinterpret_cast<void*>((first + kLargePage - 1) / kLargePage * kLargePage);
  constexpr int kFlags = MAP_SHARED | MAP_FIXED | MAP_POPULATE;
  if (mmap(at, name.bytes, PROT_READ | PROT_WRITE, kFlags, file, 0) == MAP_FAILED) return;
  begin_ = at;
  madvise(begin_, name.bytes, MADV_HUGEPAGE);
  madvise(begin_, name.bytes, MADV_DONTFORK);  // a child does not use what its parent has mapped
}

SharedPages::~SharedPages() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
  close(file_);
}

}  // namespace polypath
