#include "engine/node_ledger.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <ctime>

#include "core/log.h"
#include "core/process.h"
#include "core/user_folder.h"
#include "driver/computer.h"

namespace polypath {
namespace {

// In the file's name: processes with another layout have another file.
constexpr const char* kFileName = "ledger-2";
constexpr int kReadings = 3;  // of a slot that is being written

// FNV-1a.
std::uint64_t hash(const std::string& text) {
  std::uint64_t value = 0xcbf29ce484222325ULL;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return value;
}

// "gpu0.egress" as others know it. Names that begin with no place's name stay as they are.
std::string node_wide(const Machine& machine, const std::vector<std::string>& place_names,
                      const std::string& resource) {
  for (std::size_t p = 0; p < machine.places.size(); ++p) {
    const std::string& name = machine.places[p].name;
    if (resource.starts_with(name + ".")) return place_names[p] + resource.substr(name.size());
  }
  return resource;
}

// What readers copy while a writer may be at work: word by word, so that no word is ever half, and
// no more words than are used, because each cache line that another processor has written takes a
// tenth of a microsecond.
using Word = std::atomic<std::uint64_t>;

constexpr std::size_t kWordsOfEntry = sizeof(LedgerEntry) / 8;
constexpr std::size_t kWordsOfUse = sizeof(LedgerEntry::Use) / 8;
constexpr std::size_t kWordsBeforeUses = offsetof(LedgerEntry, use) / 8;
static_assert(sizeof(LedgerEntry) % 8 == 0 && offsetof(LedgerEntry, use) % 8 == 0 &&
              std::is_trivially_copyable_v<LedgerEntry>);

using EntryWords = std::array<Word, kWordsOfEntry>;

void store_words(const LedgerEntry& entry, std::size_t count, EntryWords& words) {
  const auto* from = reinterpret_cast<const unsigned char*>(&entry);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + 8 * i, 8);
    words[i].store(word, std::memory_order_relaxed);
  }
}

void load_words(const EntryWords& words, std::size_t first, std::size_t last, LedgerEntry& entry) {
  auto* to = reinterpret_cast<unsigned char*>(&entry);
  for (std::size_t i = first; i < last; ++i) {
    const std::uint64_t word = words[i].load(std::memory_order_relaxed);
    std::memcpy(to + 8 * i, &word, 8);
  }
}

void store(const LedgerEntry& entry, EntryWords& words) {
  store_words(entry, kWordsBeforeUses + entry.uses * kWordsOfUse, words);
}

LedgerEntry load(const EntryWords& words) {
  LedgerEntry entry;
  load_words(words, 0, kWordsBeforeUses, entry);
  entry.uses = std::min<std::uint64_t>(entry.uses, LedgerEntry::kMostUses);
  load_words(words, kWordsBeforeUses, kWordsBeforeUses + entry.uses * kWordsOfUse, entry);
  return entry;
}

}  // namespace

struct NodeLedger::Slot {
  std::atomic<std::int64_t> owner;  ///< process number; 0 if free
  std::atomic<std::uint64_t> start, number_space;
  std::atomic<std::uint64_t> version;  ///< odd while what follows is written
  std::atomic<std::uint64_t> count;    ///< of the entries
  std::array<EntryWords, kMostEntries> entries;

  [[nodiscard]] ProcessIdentity identity() const { return {owner, start, number_space}; }
  /// Appends the entries to `seen`, unless they change all the time.
  void read(std::vector<LedgerEntry>& seen) const;
};

struct NodeLedger::Table {
  std::array<Slot, kMostProcesses> slots;
};

NodeLedger::NodeLedger(const std::string& folder, const Machine& machine,
                       const std::vector<std::string>& place_names)
    : generation_(process_generation()) {
  problem_ = open(folder);
  for (const std::string& name : place_names) place_keys_.push_back(hash(name));
  for (const Resource& resource : machine.resources)
    resource_keys_.push_back(hash(node_wide(machine, place_names, resource.name)));
}

NodeLedger::~NodeLedger() {
  if (table_ == nullptr) return;
  if (is_usable()) own_->owner = 0;
  munmap(table_, sizeof(Table));
}

// A forked child has its parent's slot, which is not its own.
bool NodeLedger::is_usable() const {
  return own_ != nullptr && process_generation() == generation_;
}

double NodeLedger::now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::string NodeLedger::open(const std::string& path) {
  const UserFolder folder(path);
  if (!folder.problem().empty()) return folder.problem();
  const int file = openat(folder.descriptor(), kFileName, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                          S_IRUSR | S_IWUSR);
  if (file < 0) return fmt::format("{} cannot be opened ({})", kFileName, std::strerror(errno));
  std::string problem;
  // Held while a slot is claimed, and by nobody who has died.
  if (flock(file, LOCK_EX) != 0 || ftruncate(file, sizeof(Table)) != 0) {
    problem = fmt::format("{} cannot be used ({})", kFileName, std::strerror(errno));
  } else {
    void* memory = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) problem = fmt::format("no room ({})", std::strerror(errno));
    else table_ = static_cast<Table*>(memory), problem = claim();
  }
  flock(file, LOCK_UN);  // closing is not enough: the mapping keeps the file open
  close(file);
  return problem;
}

std::string NodeLedger::claim() {
  const auto self = this_process();
  if (!self) return "the system does not say which process this is";
  self_ = *self;
  for (Slot& slot : table_->slots) {
    if (slot.owner != 0 && slot.identity() != *self && is_alive(slot.identity())) continue;
    if (slot.identity() == *self) continue;  // another ledger of this process
    slot.owner = 0;
    slot.count = 0;
    slot.version = 0;
    slot.start = self->start;
    slot.number_space = self->number_space;
    slot.owner = self->number;
    own_ = &slot;
    return {};
  }
  return "more processes use it than it has room for";
}

LedgerEntry NodeLedger::entry(PlaceId source, PlaceId destination, Bytes bytes,
                              const Load& load) const {
  LedgerEntry made;
  made.source = key_of(source);
  made.destination = key_of(destination);
  made.bytes = bytes.value;
  for (std::size_t r = 0; r < load.size() && made.uses < LedgerEntry::kMostUses; ++r)
    if (load[r].value > 0) made.use[made.uses++] = {resource_keys_[r], load[r].value};
  return made;
}

void NodeLedger::publish(const std::vector<LedgerEntry>& entries) {
  if (!is_usable()) return;
  const std::size_t count = std::min(entries.size(), kMostEntries);
  const std::size_t first = entries.size() - count;
  const std::uint64_t version = own_->version.load(std::memory_order_relaxed);
  own_->version.store(version + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  own_->count.store(count, std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) store(entries[first + i], own_->entries[i]);
  own_->version.store(version + 2, std::memory_order_release);
}

void NodeLedger::Slot::read(std::vector<LedgerEntry>& seen) const {
  const std::size_t before = seen.size();
  for (int reading = 0; reading < kReadings; ++reading) {
    const std::uint64_t first = version.load(std::memory_order_acquire);
    const std::uint64_t entry_count =
        std::min<std::uint64_t>(count.load(std::memory_order_relaxed), kMostEntries);
    for (std::size_t i = 0; i < entry_count; ++i) seen.push_back(load(entries[i]));
    std::atomic_thread_fence(std::memory_order_acquire);
    if (first % 2 == 0 && version.load(std::memory_order_relaxed) == first) return;
    seen.resize(before);
  }
}

// A process that was killed takes nothing any more.
bool NodeLedger::is_gone(const Slot& slot, std::int64_t owner) const {
  return slot.number_space != self_.number_space ||
         (kill(static_cast<pid_t>(owner), 0) != 0 && errno == ESRCH);
}

std::vector<LedgerEntry> NodeLedger::others() const {
  std::vector<LedgerEntry> seen;
  if (!is_usable()) return seen;
  for (const Slot& slot : table_->slots) {
    const std::int64_t owner = slot.owner.load(std::memory_order_acquire);
    if (&slot == own_ || owner == 0) continue;
    const std::size_t before = seen.size();
    slot.read(seen);
    if (seen.size() > before && is_gone(slot, owner)) seen.resize(before);
  }
  return seen;
}

void NodeLedger::add(const LedgerEntry& entry, Load& load) const {
  load.resize(resource_keys_.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(entry.uses, LedgerEntry::kMostUses); ++i)
    for (std::size_t r = 0; r < resource_keys_.size(); ++r)
      if (resource_keys_[r] == entry.use[i].resource && entry.use[i].rate > 0)
        load[r].value += entry.use[i].rate;
}

std::unique_ptr<NodeLedger> open_node_ledger(const Machine& machine) {
  const Computer computer = look_at_computer();
  std::vector<std::string> names;
  for (const Place& place : machine.places) {
    const bool gpu = place.kind == PlaceKind::gpu && names.size() < computer.gpus.size();
    names.push_back(gpu ? computer.gpus[names.size()].bus_id
                        : fmt::format("memory of node {}", place.numa_node));
  }
  auto ledger = std::make_unique<NodeLedger>(usual_user_folder(), machine, names);
  if (ledger->problem().empty()) return ledger;
  log(LogLevel::info,
      fmt::format("other processes' transfers are not known: {}", ledger->problem()));
  return nullptr;
}

}  // namespace polypath
