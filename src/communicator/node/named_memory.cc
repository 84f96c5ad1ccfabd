#include "communicator/node/named_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

#include "communicator/bootstrap/ranks.h"
#include "core/byte_lock.h"
#include "core/error.h"
#include "core/process.h"

namespace polypath::communicator {
namespace {

const std::string kPrefix = "polypath-block-";
const char* const kFolder = "/dev/shm";
constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;
constexpr std::time_t kSurelyAbandoned = 60;  // seconds; a name is there for as long as one round

Descriptor open_file(const std::string& name, int flags) {
  return Descriptor(shm_open(name.c_str(), O_RDWR | O_CLOEXEC | flags, kOwnerOnly));
}

[[noreturn]] void fail_to(const std::string& what, ErrorCode code = ErrorCode::communicator) {
  fail(code, fmt::format("Memory that the ranks of a node share cannot be {}", what),
       std::strerror(errno), "See that /dev/shm is there, the same for all of them, and has room.");
}

void reserve(const Descriptor& file, std::size_t bytes) {
  if (!may_write_files_of(bytes)) {
    errno = EFBIG;
    fail_to("made");
  }
  errno = posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  if (errno != 0) fail_to("had", ErrorCode::out_of_memory);
}

// Made by a process of this user that was killed before all had it.
bool is_abandoned(const std::string& name) {
  const Descriptor file = open_file("/" + name, 0);
  struct stat about {};
  return file.is_open() && fstat(file.get(), &about) == 0 && about.st_uid == geteuid() &&
         std::time(nullptr) - about.st_mtime > kSurelyAbandoned && !is_byte_locked(file.get(), 0);
}

void remove_abandoned() {
  std::error_code problem;
  std::filesystem::directory_iterator entry(kFolder, problem);
  for (; !problem && entry != std::filesystem::directory_iterator(); entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(kPrefix) && is_abandoned(name)) shm_unlink(("/" + name).c_str());
  }
}

}  // namespace

NamedMemory::NamedMemory(std::string name, std::size_t bytes)
    : name_(std::move(name)), bytes_(bytes), generation_(process_generation()) {}

NamedMemory NamedMemory::create(std::size_t bytes) {
  remove_abandoned();
  NamedMemory memory("/" + kPrefix + unique_name(), bytes);
  const Descriptor file = open_file(memory.name_, O_CREAT | O_EXCL);
  if (!file.is_open()) fail_to("made");
  memory.is_maker_ = true;
  reserve(file, bytes);
  memory.attach(file, 0);
  return memory;
}

NamedMemory NamedMemory::open(const std::string& name, std::size_t bytes, std::size_t byte) {
  NamedMemory memory(name, bytes);
  const Descriptor file = open_file(name, 0);
  if (!file.is_open()) fail_to("opened");
  memory.attach(file, byte);
  return memory;
}

NamedMemory NamedMemory::alone(std::size_t bytes) {
  NamedMemory memory("", bytes);
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) fail_to("had", ErrorCode::out_of_memory);
  memory.data_ = data;
  return memory;
}

void NamedMemory::attach(const Descriptor& file, std::size_t byte) {
  struct stat about {};
  if (fstat(file.get(), &about) != 0 || static_cast<std::size_t>(about.st_size) != bytes_)
    fail_to("used");
  device_ = about.st_dev;
  file_ = about.st_ino;
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) fail_to("mapped", ErrorCode::out_of_memory);
  data_ = memory;
  if (madvise(memory, bytes_, MADV_DONTFORK) != 0 || !lock_byte(file.get(), byte))
    fail_to("locked");
  asking_ = shm_open(name_.c_str(), O_RDWR | O_CLOEXEC, kOwnerOnly);
  if (asking_ < 0) fail_to("opened");
}

NamedMemory::NamedMemory(NamedMemory&& other) noexcept : NamedMemory({}, 0) {
  *this = std::move(other);
}

NamedMemory& NamedMemory::operator=(NamedMemory&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(bytes_, other.bytes_);
  std::swap(is_maker_, other.is_maker_);
  std::swap(data_, other.data_);
  std::swap(generation_, other.generation_);
  std::swap(asking_, other.asking_);
  std::swap(device_, other.device_);
  std::swap(file_, other.file_);
  return *this;
}

NamedMemory::~NamedMemory() {
  if (generation_ != process_generation()) return;
  if (is_maker_) remove_name(name_);
  if (data_ != nullptr) munmap(data_, bytes_);
  if (can_ask()) close(asking_);
}

void NamedMemory::remove_name(const std::string& name) noexcept { shm_unlink(name.c_str()); }

bool NamedMemory::can_ask() const {
  struct stat about {};
  return asking_ >= 0 && fstat(asking_, &about) == 0 && about.st_dev == device_ &&
         about.st_ino == file_;
}

bool NamedMemory::is_held(std::size_t byte) const {
  return !can_ask() || is_byte_locked(asking_, byte);
}

}  // namespace polypath::communicator
