#include "engine/load/ledger_table.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <type_traits>

#include "core/byte_lock.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "core/process.h"
#include "core/user_folder.h"

namespace polypath::engine {
namespace {

constexpr int kReadings = 3;                // of a slot that is being written
constexpr std::size_t kLockMapping = 4096;  // bytes: a page
constexpr std::size_t kWords = sizeof(LedgerEntry) / 8;
using Words = std::array<std::uint64_t, kWords>;

static_assert(std::is_trivially_copyable_v<LedgerEntry> && sizeof(Words) == sizeof(LedgerEntry));
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);

// An entry ends with what it uses, most often a few resources of many.
std::size_t words_of(const LedgerEntry& entry) {
  constexpr std::size_t kUse = sizeof(LedgerEntry::Use) / 8;
  const std::size_t unused = LedgerEntry::kMostUses - std::min(entry.uses, LedgerEntry::kMostUses);
  return kWords - unused * kUse;
}

// Shared with other processes.
template <class T>
T look_at(const T& value) {
  return std::atomic_ref(const_cast<T&>(value)).load(std::memory_order_acquire);
}
template <class T>
void set(T& value, T to) {
  std::atomic_ref(value).store(to, std::memory_order_release);
}

// Processes with another layout have another file.
std::string file_name() { return "ledger-5-" + segment_name_space(); }

}  // namespace

/// The transfers that a process has in flight.
struct alignas(64) LedgerTable::Slot {
  std::uint64_t version;  ///< odd while the rest is written
  double written;         ///< when
  std::uint64_t count;
  std::array<Words, kMostEntries> entries;
};

/// All zeros at first: then nothing counts.
struct LedgerTable::Layout {
  std::array<double, kMostProcesses> until;  ///< the entries of a slot count
  std::array<Slot, kMostProcesses> slots;
};

LedgerTable::LedgerTable(const std::string& folder) : generation_(process_generation()) {
  problem_ = open(folder);
}

// A forked child has neither, and perhaps something else there.
LedgerTable::~LedgerTable() {
  if (!is_usable()) return;
  write(nullptr, 0, 0, 0);
  munmap(lock_, kLockMapping);
}

bool LedgerTable::is_usable() const {
  return problem_.empty() && process_generation() == generation_;
}

std::string LedgerTable::open(const std::string& path) {
  const UserFolder user_folder(path);
  if (!user_folder.problem().empty()) return user_folder.problem();
  const std::string name = file_name();
  const Descriptor folder = user_folder.open();
  const Descriptor file(openat(folder.get(), name.c_str(),
                               O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  struct stat about {};
  if (!file.is_open() || fstat(file.get(), &about) != 0)
    return with_reason("its file cannot be opened");
  path_ = fmt::format("{}/{}", path, name);
  file_ = {about.st_dev, about.st_ino};
  if (std::string problem = take_slot(file.get()); !problem.empty()) return problem;
  segment_ = SharedSegment(file.get(), sizeof(Layout), kMostProcesses);
  if (!segment_.problem().empty()) return segment_.problem();
  layout_ = static_cast<Layout*>(segment_.data());
  std::string problem = keep(file.get());
  if (problem.empty()) write(nullptr, 0, 0, 0);
  return problem;
}

// The first slot that no process holds.
std::string LedgerTable::take_slot(int file) {
  for (own_ = 0; own_ < kMostProcesses; ++own_) {
    if (lock_byte(file, own_)) return {};
    if (errno != EAGAIN && errno != EACCES) return with_reason("its file cannot be locked");
  }
  return "more processes use it than it has room for";
}

// The mapping keeps the lock when the file is closed.
std::string LedgerTable::keep(int file) {
  void* memory = mmap(nullptr, kLockMapping, PROT_NONE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return with_reason("its file cannot be mapped");
  if (madvise(memory, kLockMapping, MADV_DONTFORK) != 0) {
    std::string problem = with_reason("its file cannot be kept from children");
    munmap(memory, kLockMapping);
    return problem;
  }
  lock_ = memory;
  return {};
}

// A reader that sees a new word sees the odd version, or a later one.
void LedgerTable::write(const LedgerEntry* entries, std::size_t count, double until, double now) {
  Slot& slot = layout_->slots[own_];
  const std::uint64_t odd = look_at(slot.version) | 1;  // also where the last owner was killed
  set(slot.version, odd);
  for (std::size_t i = 0; i < count; ++i) {
    Words words;
    std::memcpy(words.data(), &entries[i], sizeof words);
    for (std::size_t w = 0; w < words_of(entries[i]); ++w) set(slot.entries[i][w], words[w]);
  }
  set(slot.count, static_cast<std::uint64_t>(count));
  set(slot.written, now);
  set(slot.version, odd + 1);
  set(layout_->until[own_], until);
}

void LedgerTable::publish(const std::vector<LedgerEntry>& entries, double now) {
  if (!is_usable()) return;
  const std::size_t count = std::min(entries.size(), kMostEntries);
  const LedgerEntry* first = entries.data() + (entries.size() - count);
  double until = 0;
  for (const LedgerEntry* entry = first; entry != first + count; ++entry)
    until = std::max({until, entry->end, entry->back_until});
  write(first, count, until, now);
}

std::vector<LedgerEntry> LedgerTable::others(double now, double since) const {
  Entries seen;
  if (!is_usable()) return seen;
  for (std::size_t slot = 0; slot < kMostProcesses; ++slot) {
    if (slot == own_ || !(look_at(layout_->until[slot]) > since)) continue;
    std::optional<Entries> entries;
    for (int reading = 0; reading < kReadings && !entries; ++reading) entries = read(slot, now);
    if (entries) seen.insert(seen.end(), entries->begin(), entries->end());
  }
  return seen;
}

// Nothing if it is written meanwhile. Killed processes take nothing any more.
std::optional<LedgerTable::Entries> LedgerTable::read(std::size_t slot, double now) const {
  const Slot& from = layout_->slots[slot];
  const std::uint64_t version = look_at(from.version);
  const double written = look_at(from.written);
  Entries entries(std::min<std::size_t>(look_at(from.count), kMostEntries));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Words words;
    for (std::size_t w = 0; w < kWords; ++w) words[w] = look_at(from.entries[i][w]);
    std::memcpy(static_cast<void*>(&entries[i]), words.data(), sizeof words);
  }
  if (version % 2 != 0 || look_at(from.version) != version) return std::nullopt;
  if (now - written >= kBelieved && !has_owner(slot)) entries.clear();
  return entries;
}

// Where that cannot be determined the owner counts as running: its transfers in flight will be
// over.
bool LedgerTable::has_owner(std::size_t slot) const {
  const Descriptor file(::open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat about {};
  if (!file.is_open() || fstat(file.get(), &about) != 0 ||
      Identity{about.st_dev, about.st_ino} != file_)
    return true;
  return is_byte_locked(file.get(), slot);
}

}  // namespace polypath::engine
