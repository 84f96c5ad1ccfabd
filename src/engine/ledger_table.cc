#include "engine/ledger_table.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>

#include "core/descriptor.h"
#include "core/process.h"
#include "core/user_folder.h"

namespace polypath {
namespace {

// In the file's name: processes with another layout have another file.
constexpr const char* kFileName = "ledger-3";
constexpr int kReadings = 3;  // of a slot that is being written
constexpr std::size_t kPage = 4096;

static_assert(std::is_trivially_copyable_v<LedgerEntry> && sizeof(LedgerEntry) % 8 == 0);

// FNV-1a, by words.
std::uint64_t checksum_of(const LedgerEntry* entries, std::size_t count) {
  const auto* at = reinterpret_cast<const unsigned char*>(entries);
  std::uint64_t sum = 0xcbf29ce484222325ULL ^ count;
  for (std::size_t word = 0; word < count * sizeof(LedgerEntry) / 8; ++word) {
    std::uint64_t value = 0;
    std::memcpy(&value, at + 8 * word, 8);
    sum = (sum ^ value) * 0x100000001b3ULL;
  }
  return sum;
}

struct flock byte_of(std::size_t slot) {
  struct flock asked {};
  asked.l_type = F_WRLCK;
  asked.l_whence = SEEK_SET;
  asked.l_start = static_cast<off_t>(slot);
  asked.l_len = 1;
  return asked;
}

// So that what is written later finds room, without the C library's way of trying, which writes.
bool reserve(int file, std::size_t offset, std::size_t bytes) {
  int result = 0;
  do result = fallocate(file, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  while (result != 0 && errno == EINTR);
  return result == 0 || errno == EOPNOTSUPP;
}

std::string with_reason(const char* problem) {
  return fmt::format("{} {} ({})", kFileName, problem, std::strerror(errno));
}

}  // namespace

/// What everybody looks at: until when a slot counts, when that was written, and how many entries
/// it has.
struct LedgerTable::Row {
  double until, written;
  std::uint64_t count;
};

struct alignas(kPage) LedgerTable::Slot {
  std::uint64_t checksum;
  std::array<LedgerEntry, kMostEntries> entries;
};

/// What is read of a slot, and where to among the entries of all.
struct LedgerTable::Part {
  std::size_t slot, first, count;
  std::uint64_t checksum;
};

struct LedgerTable::Layout {
  alignas(kPage) Rows rows;
  std::array<Slot, kMostProcesses> slots;
};

LedgerTable::LedgerTable(const std::string& folder)
    : process_(getpid()), generation_(process_generation()) {
  static_assert(sizeof(Slot) == kPage);
  problem_ = open(folder);
}

// A forked child has no such mapping, and perhaps something else there.
LedgerTable::~LedgerTable() {
  if (mapped_ == nullptr || !is_usable()) return;
  (void)write(nullptr, {});
  munmap(mapped_, sizeof(Layout));
}

bool LedgerTable::is_usable() const {
  return problem_.empty() && process_generation() == generation_;
}

std::string LedgerTable::open(const std::string& path) {
  const UserFolder user_folder(path);
  if (!user_folder.problem().empty()) return user_folder.problem();
  const Descriptor folder = user_folder.open();
  const Descriptor file(openat(folder.get(), kFileName, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                               S_IRUSR | S_IWUSR));
  struct stat about {};
  if (!file.is_open() || fstat(file.get(), &about) != 0) return with_reason("cannot be opened");
  path_ = fmt::format("{}/{}", path, kFileName);
  file_ = {about.st_dev, about.st_ino};
  if (about.st_size < static_cast<off_t>(sizeof(Layout))) {
    if (!may_write_files_of(sizeof(Layout))) return "this process may not write files that large";
    if (ftruncate(file.get(), sizeof(Layout)) != 0) return with_reason("cannot be made larger");
  }
  const std::string problem = take_slot(file.get());
  return problem.empty() ? map(file.get()) : problem;
}

// The first that nobody holds.
std::string LedgerTable::take_slot(int file) {
  for (own_ = 0; own_ < kMostProcesses; ++own_) {
    struct flock asked = byte_of(own_);
    if (fcntl(file, F_OFD_SETLK, &asked) == 0) return {};
    if (errno != EAGAIN && errno != EACCES) return with_reason("cannot be locked");
  }
  return "more processes use it than it has room for";
}

// The mapping keeps the lock when the file is closed.
std::string LedgerTable::map(int file) {
  if (!reserve(file, offsetof(Layout, rows), sizeof(Rows)) ||
      !reserve(file, offsetof(Layout, slots) + own_ * sizeof(Slot), sizeof(Slot)))
    return with_reason("has no room");
  void* memory = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return with_reason("cannot be mapped");
  mapped_ = static_cast<Layout*>(memory);
  if (madvise(mapped_, sizeof(Layout), MADV_DONTFORK) == 0 && write(nullptr, {})) return {};
  std::string problem = with_reason("cannot be written by the kernel");
  munmap(mapped_, sizeof(Layout));
  mapped_ = nullptr;
  return problem;
}

// Returns false if it could not be written, or only a part.
bool LedgerTable::write(const LedgerEntry* entries, const Row& row) {
  std::uint64_t checksum = checksum_of(entries, row.count);
  Slot& slot = mapped_->slots[own_];
  const std::size_t bytes = row.count * sizeof(LedgerEntry);
  const iovec from[] = {{&checksum, sizeof checksum},
                        {const_cast<LedgerEntry*>(entries), bytes},
                        {const_cast<Row*>(&row), sizeof row}};
  const iovec to[] = {{&slot, sizeof checksum + bytes}, {&mapped_->rows[own_], sizeof row}};
  return process_vm_writev(process_, from, 3, to, 2, 0) ==
         static_cast<ssize_t>(sizeof checksum + bytes + sizeof row);
}

// Where it cannot be written, what was written last is over soon.
void LedgerTable::publish(const std::vector<LedgerEntry>& entries, double now) {
  if (!is_usable()) return;
  const std::size_t count = std::min(entries.size(), kMostEntries);
  const LedgerEntry* first = entries.data() + (entries.size() - count);
  Row row{0, now, count};
  for (const LedgerEntry* entry = first; entry != first + count; ++entry)
    row.until = std::max({row.until, entry->end, entry->back_until});
  (void)write(first, row);
}

std::vector<LedgerEntry> LedgerTable::others(double now) const {
  std::vector<LedgerEntry> seen;
  if (!is_usable()) return seen;
  SlotNumbers wanted;
  for (int reading = 0; reading < kReadings; ++reading) {
    Rows rows;
    const iovec to{&rows, sizeof rows}, from{&mapped_->rows, sizeof rows};
    if (process_vm_readv(process_, &to, 1, &from, 1, 0) != sizeof rows) break;
    if (reading == 0) wanted = running(rows, now);
    if (wanted.empty()) break;
    wanted = read(wanted, rows, seen);
  }
  return seen;
}

// Killed processes are not: they take nothing any more.
LedgerTable::SlotNumbers LedgerTable::running(const Rows& rows, double now) const {
  SlotNumbers found;
  for (std::size_t slot = 0; slot < kMostProcesses; ++slot) {
    const Row& row = rows[slot];
    if (slot == own_ || !(row.until > now)) continue;
    if (now - row.written < kBelieved || has_owner(slot)) found.push_back(slot);
  }
  return found;
}

// Appends the entries of these slots; returns those of which only a part could be read.
LedgerTable::SlotNumbers LedgerTable::read(const SlotNumbers& wanted, const Rows& rows,
                                           std::vector<LedgerEntry>& seen) const {
  std::vector<Part> parts;
  std::size_t total = 0;
  for (const std::size_t slot : wanted) {
    parts.push_back({slot, total, std::min<std::size_t>(rows[slot].count, kMostEntries), 0});
    total += parts.back().count;
  }
  std::vector<LedgerEntry> entries(total);
  SlotNumbers partly;
  if (!fetch(parts, entries)) return partly;
  for (const Part& part : parts) {
    const LedgerEntry* first = entries.data() + part.first;
    if (checksum_of(first, part.count) == part.checksum)
      seen.insert(seen.end(), first, first + part.count);
    else partly.push_back(part.slot);
  }
  return partly;
}

bool LedgerTable::fetch(std::vector<Part>& parts, std::vector<LedgerEntry>& entries) const {
  std::vector<iovec> to, from;
  std::size_t all = 0;
  for (Part& part : parts) {
    const std::size_t bytes = part.count * sizeof(LedgerEntry);
    to.push_back({&part.checksum, sizeof part.checksum});
    to.push_back({entries.data() + part.first, bytes});
    from.push_back({&mapped_->slots[part.slot], sizeof part.checksum + bytes});
    all += from.back().iov_len;
  }
  return process_vm_readv(process_, to.data(), to.size(), from.data(), from.size(), 0) ==
         static_cast<ssize_t>(all);
}

// Where nobody can say it counts as running: what it has in flight will be over.
bool LedgerTable::has_owner(std::size_t slot) const {
  const Descriptor file(::open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat about {};
  if (!file.is_open() || fstat(file.get(), &about) != 0 ||
      Identity{about.st_dev, about.st_ino} != file_)
    return true;
  struct flock asked = byte_of(slot);
  return fcntl(file.get(), F_OFD_GETLK, &asked) != 0 || asked.l_type != F_UNLCK;
}

}  // namespace polypath
