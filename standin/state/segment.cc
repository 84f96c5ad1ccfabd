#include "standin/state/segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>

#include "core/error.h"
#include "core/text.h"

namespace polypath::standin {
namespace {

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number)
    fail(ErrorCode::driver, "no random number", std::strerror(errno));
  return number;
}

[[noreturn]] void fail_memory(Bytes size) {
  fail(ErrorCode::out_of_memory, fmt::format("{} cannot be allocated", describe_bytes(size)),
       std::strerror(errno), "Use smaller sizes, or fewer allocations at a time.");
}

// The kernel's name for the file; unique among all files of all processes.
std::string file_name(const SegmentName& name) {
  return fmt::format("standin-{:016x}-{}", name.process_nonce, name.serial);
}

std::string name_of_file(int file) {
  std::array<char, 256> text{};
  const std::string link = fmt::format("/proc/self/fd/{}", file);
  const ssize_t length = readlink(link.c_str(), text.data(), text.size());
  return {text.data(), length < 0 ? 0 : static_cast<std::size_t>(length)};
}

bool is_the_segment(int file, const SegmentName& name) {
  struct stat status {};
  return fstat(file, &status) == 0 && static_cast<std::uint64_t>(status.st_size) == name.size &&
         name_of_file(file) == fmt::format("/memfd:{} (deleted)", file_name(name));
}

int open_file_of_process(const SegmentName& name) {
  const std::string path = fmt::format("/proc/{}/fd/{}", name.process, name.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0 || is_the_segment(file, name)) return file;
  close(file);
  return -1;
}

// A forked child has no GPU, and would keep the memory.
void* map(void* where, std::uint64_t size, int file, int flags) {
  void* bytes = mmap(where, size, PROT_READ | PROT_WRITE, MAP_SHARED | flags, file, 0);
  if (bytes != MAP_FAILED) madvise(bytes, size, MADV_DONTFORK);
  return bytes;
}

using Key = std::pair<std::uint64_t, std::uint64_t>;
std::mutex opened_mutex;
std::map<Key, std::weak_ptr<Segment>>& opened() {
  static auto& segments = *new std::map<Key, std::weak_ptr<Segment>>;
  return segments;
}

}  // namespace

std::uint64_t Segment::nonce_of_this_process() {
  static const std::uint64_t nonce = random_number();
  return nonce;
}

std::shared_ptr<Segment> Segment::create(Bytes size) {
  static std::atomic<std::uint64_t> last_serial = 0;
  SegmentName name{nonce_of_this_process(), ++last_serial, size.value, getpid(), -1};
  name.file = memfd_create(file_name(name).c_str(), MFD_CLOEXEC);
  if (name.file < 0) fail_memory(size);
  if (ftruncate(name.file, static_cast<off_t>(size.value)) != 0) {
    close(name.file);
    fail_memory(size);
  }
  return std::shared_ptr<Segment>(new Segment(name, name.file));
}

template <class OpenFile>
std::shared_ptr<Segment> Segment::open_once(const SegmentName& name, const OpenFile& open_file) {
  const std::scoped_lock lock(opened_mutex);
  std::erase_if(opened(), [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Segment>& known = opened()[{name.process_nonce, name.serial}];
  if (auto segment = known.lock()) return segment;
  const int file = open_file();
  if (file < 0) return nullptr;
  auto segment = std::shared_ptr<Segment>(new Segment(name, file));
  known = segment;
  return segment;
}

std::shared_ptr<Segment> Segment::open(const SegmentName& name) {
  return open_once(name, [&] { return open_file_of_process(name); });
}

std::shared_ptr<Segment> Segment::of_file(int file) {
  SegmentName name;
  name.process = getpid(), name.file = file;
  struct stat status {};
  if (fstat(file, &status) != 0) return nullptr;
  name.size = static_cast<std::uint64_t>(status.st_size);
  constexpr std::string_view kBefore = "/memfd:standin-";
  const std::string text = name_of_file(file);
  if (!text.starts_with(kBefore)) return nullptr;
  const char* const nonce = text.c_str() + kBefore.size();
  const auto after = std::from_chars(nonce, text.c_str() + text.size(), name.process_nonce, 16);
  std::from_chars(after.ptr + 1, text.c_str() + text.size(), name.serial);
  if (!is_the_segment(file, name)) return nullptr;
  return open_once(name, [&] { return fcntl(file, F_DUPFD_CLOEXEC, 0); });
}

void* Segment::map_at(std::byte* where, Bytes size) const {
  return map(where, size.value, file_, MAP_FIXED);
}

int Segment::duplicate_file() const { return fcntl(file_, F_DUPFD_CLOEXEC, 0); }

Segment::Segment(const SegmentName& name, int file) : name_(name), file_(file) {
  void* bytes = map(nullptr, name.size, file, 0);
  if (bytes == MAP_FAILED) {
    close(file);
    fail_memory({name.size});
  }
  bytes_ = static_cast<std::byte*>(bytes);
}

Segment::~Segment() {
  munmap(bytes_, name_.size);
  close(file_);
}

// Pages that no process has touched stay untouched.
void Segment::spoil() {
  constexpr int kGarbage = 0xd7;
  off_t begin = lseek(file_, 0, SEEK_DATA);
  while (begin >= 0) {
    const off_t end = lseek(file_, begin, SEEK_HOLE);
    if (end < 0) return;
    const auto last = std::min(static_cast<std::uint64_t>(end), name_.size);
    std::memset(bytes_ + begin, kGarbage, last - static_cast<std::uint64_t>(begin));
    begin = lseek(file_, end, SEEK_DATA);
  }
}

}  // namespace polypath::standin
