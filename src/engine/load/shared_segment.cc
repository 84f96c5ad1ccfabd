#include "engine/load/shared_segment.h"

#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "core/byte_lock.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "core/process.h"

namespace polypath::engine {
namespace {

constexpr std::uint64_t kMagic = 0x706f6c7970617468;  // "polypath"
constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;
// Finding or making a segment takes some 20 us. A process that stopped in the middle of it does not
// hold up the others.
constexpr int kTries = 200;
constexpr std::chrono::microseconds kBetweenTries{100};

bool lock_soon(int file, std::size_t byte) {
  for (int i = 0; i < kTries; ++i) {
    if (lock_byte(file, byte)) return true;
    if (errno != EAGAIN && errno != EACCES) return false;
    std::this_thread::sleep_for(kBetweenTries);
  }
  return false;
}

}  // namespace

/// In the segment, before what it holds.
struct alignas(64) SharedSegment::Header {
  std::uint64_t nonce;
};

/// In the file.
struct SharedSegment::Record {
  std::uint64_t magic = 0;
  std::int64_t id = 0;
  std::uint64_t nonce = 0;  ///< an id may come back as another segment's
};

SharedSegment::SharedSegment(int file, std::size_t bytes, std::size_t byte)
    : generation_(process_generation()) {
  if (!lock_soon(file, byte)) {
    problem_ = with_reason("its file cannot be locked");
    return;
  }
  problem_ = find_or_make(file, bytes);
  unlock_byte(file, byte);
}

SharedSegment::SharedSegment(SharedSegment&& other) noexcept { *this = std::move(other); }

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
  std::swap(problem_, other.problem_);
  std::swap(attached_, other.attached_);
  std::swap(generation_, other.generation_);
  return *this;
}

SharedSegment::~SharedSegment() { detach(); }

void* SharedSegment::data() const { return attached_ == nullptr ? nullptr : attached_ + 1; }

void SharedSegment::detach() noexcept {
  if (attached_ != nullptr && process_generation() == generation_) shmdt(attached_);
  attached_ = nullptr;
}

std::string SharedSegment::find_or_make(int file, std::size_t bytes) {
  Record record;
  const ssize_t read = pread(file, &record, sizeof record, 0);
  const bool known = read == sizeof record && record.magic == kMagic;
  return known && attach(record, bytes) ? "" : make(file, bytes);
}

bool SharedSegment::attach(const Record& record, std::size_t bytes) {
  const int id = static_cast<int>(record.id);
  shmid_ds about{};
  if (shmctl(id, IPC_STAT, &about) != 0 || about.shm_segsz != sizeof(Header) + bytes ||
      about.shm_perm.uid != geteuid())
    return false;
  void* memory = shmat(id, nullptr, 0);
  if (memory == reinterpret_cast<void*>(-1)) return false;
  attached_ = static_cast<Header*>(memory);
  const bool is_it = attached_->nonce == record.nonce &&
                     madvise(attached_, sizeof(Header) + bytes, MADV_DONTFORK) == 0;
  if (!is_it) detach();
  return is_it;
}

// Marked for removal once it is attached: Linux lets others attach it all the same.
std::string SharedSegment::make(int file, std::size_t bytes) {
  if (!may_write_files_of(sizeof(Record))) return "this process may not write files";
  Record record{kMagic, shmget(IPC_PRIVATE, sizeof(Header) + bytes, IPC_CREAT | kOwnerOnly), 0};
  if (record.id < 0) return with_reason("no shared memory can be had");
  const int id = static_cast<int>(record.id);
  if (getrandom(&record.nonce, sizeof record.nonce, 0) != sizeof record.nonce) record.nonce = 1;
  void* memory = shmat(id, nullptr, 0);
  const bool attached = memory != reinterpret_cast<void*>(-1);
  if (attached) static_cast<Header*>(memory)->nonce = record.nonce;
  const bool again = attached && attach(record, bytes);
  if (attached) shmdt(memory);
  shmctl(id, IPC_RMID, nullptr);
  if (!again) return with_reason("shared memory cannot be attached");
  if (pwrite(file, &record, sizeof record, 0) == sizeof record) return {};
  std::string problem = with_reason("its file cannot be written");
  detach();
  return problem;
}

std::string segment_name_space() {
  struct stat about {};
  return stat("/proc/self/ns/ipc", &about) == 0 ? std::to_string(about.st_ino) : "0";
}

}  // namespace polypath::engine
