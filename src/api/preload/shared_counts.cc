#include "api/preload/shared_counts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "api/preload/process_report.h"
#include "core/descriptor.h"
#include "core/process.h"

namespace polypath::preload {
namespace {

constexpr const char* kVariable = "_POLYPATH_COUNTS";
constexpr std::size_t kBytes = sizeof(CountsTable) + CountsTable::kEntries * sizeof(CountsEntry);

// Zeros follow the text, of which the end is left out if it is too long.
template <std::size_t size>
void put(char (&place)[size], const char* text) {
  std::strncpy(place, text, size - 1);
  place[size - 1] = '\0';
}

// A file of another process on another node may have the same path.
CountsTable* map_table(const std::string& named) {
  const std::size_t colon = named.rfind(':');
  if (colon == std::string::npos) return nullptr;
  const std::string token = named.substr(colon + 1);
  const Descriptor file(open(named.substr(0, colon).c_str(), O_RDWR | O_CLOEXEC));
  struct stat status {};
  if (!file.is_open() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) < kBytes)
    return nullptr;
  void* mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* table = static_cast<CountsTable*>(mapped);
  if (token.size() == sizeof table->token &&
      std::memcmp(table->token, token.data(), sizeof table->token) == 0)
    return table;
  munmap(mapped, kBytes);
  return nullptr;
}

void describe(CountsTable& table) {
  table.outcomes = kOutcomes;
  table.accelerated = kAccelerated;
  table.entries = CountsTable::kEntries;
  table.entry_bytes = sizeof(CountsEntry);
  for (std::size_t i = 0; i < kOutcomes; ++i) put(table.texts[i], text_of(static_cast<Outcome>(i)));
}

// The entry that this process took before it became this program; else a free entry.
std::size_t entry_for(CountsTable& table, std::int32_t process) {
  for (std::size_t i = 0; i < CountsTable::kEntries; ++i)
    if (table.owners[i].load(std::memory_order_relaxed) == process) return i;
  for (std::size_t i = 0; i < CountsTable::kEntries; ++i) {
    std::int32_t nobody = 0;
    if (table.owners[i].compare_exchange_strong(nobody, process)) return i;
  }
  return CountsTable::kEntries;
}

}  // namespace

SharedCounts& SharedCounts::of_process() {
  static auto& counts = *new SharedCounts;
  return counts;
}

bool SharedCounts::are_wanted() noexcept { return std::getenv(kVariable) != nullptr; }

void SharedCounts::attach() noexcept {
  if (looked_.exchange(true)) return;
  try {
    const char* named = std::getenv(kVariable);
    table_ = named == nullptr ? nullptr : map_table(named);
    if (table_ == nullptr) return;
    describe(*table_);
    take(program_name().c_str(), rank_of_launcher().c_str(), false);
  } catch (const std::exception&) {
    // Without memory it reports at its end, if at all.
  }
}

void SharedCounts::take(const char* program, const char* rank, bool driver_open) noexcept {
  const std::size_t place = entry_for(*table_, getpid());
  auto* entries = reinterpret_cast<CountsEntry*>(table_ + 1);
  entry_ = place < CountsTable::kEntries ? entries + place : nullptr;
  if (entry_ == nullptr) return;
  put(entry_->program, program);
  put(entry_->rank, rank);
  put(entry_->why_off, "");
  entry_->driver_open.store(driver_open ? 1 : 0, std::memory_order_relaxed);
  for (Tally::Count& count : entry_->counts) count.calls = count.bytes = 0;
}

void SharedCounts::take_for_child() noexcept {
  if (table_ == nullptr) return;
  const CountsEntry* parent = entry_;
  if (parent == nullptr) return take("", "", false);
  take(parent->program, parent->rank, parent->driver_open.load(std::memory_order_relaxed) != 0);
}

void SharedCounts::note_driver() noexcept {
  if (entry_ != nullptr) entry_->driver_open.store(1, std::memory_order_relaxed);
}

void SharedCounts::note_off(const char* why) noexcept {
  if (entry_ != nullptr) put(entry_->why_off, why);
}

void SharedCounts::give_back() noexcept {
  if (entry_ == nullptr) return;
  CountsEntry* const entry = std::exchange(entry_, nullptr);
  const auto* entries = reinterpret_cast<const CountsEntry*>(table_ + 1);
  table_->owners[entry - entries].store(0, std::memory_order_release);
}

}  // namespace polypath::preload
