#include "driver/cuda/imports.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/error.h"
#include "driver/cuda/contexts.h"
#include "driver/cuda/cuda_api.h"
#include "driver/cuda/handles.h"

namespace polypath::cuda {
namespace {

bool create(EventPointer& event) {
  const RelaxedCapture relaxed;
  return functions().event_create(&event, kEventDisableTiming) == kSuccess;
}

// The entry that contains the address; null if there is none.
template <class Entries>
auto* entry_at(Entries& entries, Address address) {
  auto after = entries.upper_bound(address);
  if (after == entries.begin()) return static_cast<decltype(&after->second)>(nullptr);
  auto& entry = std::prev(after)->second;
  return address < entry.memory.base + entry.memory.size ? &entry : nullptr;
}

bool serves(const ImportedMemory& memory, ContextPointer context) {
  return memory.of_all || memory.context == context;
}

bool same_memory(const ImportedMemory& a, const ImportedMemory& b) {
  return a.size == b.size && a.handle == b.handle && a.context == b.context && a.owner == b.owner;
}

}  // namespace

std::uint64_t id_of_memory(Address address) {
  std::uint64_t id = 0;
  std::array<int, 1> which = {kPointerBufferId};
  std::array<void*, 1> data = {&id};
  const Result result = functions().pointer_attributes(1, which.data(), data.data(), address.value);
  return result == kSuccess ? id : 0;
}

SecondMapping::SecondMapping(const IpcHandle& handle, ContextPointer context)
    : context_(context), context_id_(id_of(context)) {
  const Current current(context);
  const RelaxedCapture relaxed;
  DevicePointer opened = 0;
  check(functions().ipc_open(&opened, handle, kIpcLazyPeerAccess), "cuIpcOpenMemHandle");
  base_ = {static_cast<std::uintptr_t>(opened)};
}

// Better never closed than under a copy.
SecondMapping::~SecondMapping() {
  if (lost_ || !are_alive()) return;
  try {
    const Current current(context_);
    const RelaxedCapture relaxed;
    if (wait_for_uses()) functions().ipc_close(base_.value);
    for (const auto& [queue, use] : uses_) functions().event_destroy(use.event);
  } catch (const Error&) {
    // The context is gone, and everything in it.
  }
}

// Else the mapping, or an event, has ended with its context, and its pointer means nothing.
bool SecondMapping::are_alive() const {
  return id_of(context_) == context_id_ &&
         std::all_of(uses_.begin(), uses_.end(), [](const auto& use) {
           return id_of(use.second.context) == use.second.context_id;
         });
}

bool SecondMapping::wait_for_uses() {
  for (const auto& [queue, use] : uses_)
    if (functions().event_synchronize(use.event) != kSuccess) return false;
  return true;
}

// An event per queue is enough: a later use on the same one comes after the earlier.
void SecondMapping::note_use(StreamHandle stream) {
  const bool of_thread = reinterpret_cast<std::uintptr_t>(pointer_of(stream)) == kStreamPerThread;
  const Queue queue{stream.value, of_thread ? static_cast<std::uintptr_t>(pthread_self()) : 0};
  const std::scoped_lock lock(mutex_);
  Use& use = uses_[queue];
  if (use.event == nullptr) {
    functions().context_current(&use.context);
    use.context_id = id_of(use.context);
    if (!create(use.event)) {
      uses_.erase(queue);
      lost_ = true;
      return;
    }
  }
  lost_ |= functions().event_record(use.event, pointer_of(stream)) != kSuccess;
}

void SecondMapping::abandon() {
  const std::scoped_lock lock(mutex_);
  lost_ = true;
}

Imports& Imports::of_process() {
  static auto& imports = *new Imports;
  return imports;
}

void Imports::add(const ImportedMemory& memory, Check still_exported) {
  Mappings ended;  // of a mapping that is no more, closed without the lock
  const std::scoped_lock lock(mutex_);
  const auto [place, is_new] =
      entries_.try_emplace(memory.base, Entry{memory, still_exported, 1, false, {}});
  Entry& entry = place->second;
  if (!is_new && entry.memory.id != memory.id) {
    ended = std::move(entry.mappings);
    entry = Entry{memory, std::move(still_exported), 1, false, {}};
  } else if (!is_new) {
    ++entry.openings;
    if (!same_memory(entry.memory, memory)) entry.memory.owner = kOwnerUnknown;
  }
  count_.store(entries_.size(), std::memory_order_release);
  ++changes_;
}

void Imports::forget_ended(Address begin, Bytes bytes) {
  if (empty()) return;
  std::vector<Mappings> ended;
  const std::scoped_lock lock(mutex_);
  std::erase_if(entries_, [&](auto& entry) {
    const ImportedMemory& memory = entry.second.memory;
    const bool apart = memory.base + memory.size <= begin || begin + bytes <= memory.base;
    if (apart || id_of_memory(memory.base) == memory.id) return false;
    ended.push_back(std::move(entry.second.mappings));
    return true;
  });
  if (ended.empty()) return;
  count_.store(entries_.size(), std::memory_order_release);
  ++changes_;
}

// The mappings go after the lock has: waiting for their last use may take long.
void Imports::remove(Address base) {
  Mappings unused;
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(base);
  if (found == entries_.end() || --found->second.openings > 0) return;
  unused = std::move(found->second.mappings);
  entries_.erase(found);
  count_.store(entries_.size(), std::memory_order_release);
  ++changes_;
}

std::optional<ImportedMemory> Imports::find(Address address) const {
  if (empty()) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  const Entry* entry = entry_at(entries_, address);
  return entry == nullptr ? std::nullopt : std::optional(entry->memory);
}

bool Imports::mappable(Address address) const {
  const std::scoped_lock lock(mutex_);
  const Entry* entry = entry_at(entries_, address);
  return entry == nullptr || !entry->failed;
}

// None if a mapping has to be opened for it. The caller holds the lock.
std::optional<Reached> Imports::reached(Address address, ContextPointer context) {
  const Entry* entry = entry_at(entries_, address);
  if (entry == nullptr || serves(entry->memory, context)) return Reached{address, nullptr};
  const auto found = entry->mappings.find(context);
  if (found == entry->mappings.end()) return std::nullopt;
  const auto& mapping = found->second;
  return Reached{mapping->base() + Bytes{address.value - entry->memory.base.value}, mapping};
}

bool Imports::is_reached(Address address, ContextPointer context) const {
  const std::scoped_lock lock(mutex_);
  const Entry* entry = entry_at(entries_, address);
  return entry == nullptr || serves(entry->memory, context) || entry->mappings.contains(context);
}

// Opened without the lock, because it takes milliseconds. Checked on both sides: between them the
// exporter has kept the allocation, so that what has been opened is what the program had opened.
Reached Imports::reach(Address address, ContextPointer context) {
  if (empty()) return {address, nullptr};
  std::unique_lock lock(mutex_);
  if (const auto known = reached(address, context)) return *known;
  const Entry& entry = *entry_at(entries_, address);
  const ImportedMemory memory = entry.memory;
  const Check still_exported = entry.still_exported;
  const bool failed = entry.failed;
  lock.unlock();
  if (failed)
    fail(ErrorCode::driver, "memory of another process cannot be mapped again",
         "it has been tried before");
  std::shared_ptr<SecondMapping> mapping;  // goes without the lock if it cannot be used
  try {
    const auto check_exported = [&] {
      if (memory.owner >= 0 && still_exported()) return;
      fail(ErrorCode::unsupported, "memory of another process cannot be mapped again",
           "its exporter has freed it or ended");
    };
    check_exported();
    mapping = std::make_shared<SecondMapping>(memory.handle, context);
    check_exported();
  } catch (const Error&) {
    note_failure(memory);
    throw;
  }
  lock.lock();
  Entry* now = entry_at(entries_, address);
  if (now == nullptr || now->memory.id != memory.id) {
    lock.unlock();
    fail(ErrorCode::unsupported, "memory of another process cannot be mapped again",
         "the program has unmapped it meanwhile");
  }
  now->mappings.emplace(context, mapping);
  return *reached(address, context);
}

void Imports::note_failure(const ImportedMemory& memory) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(memory.base);
  if (found != entries_.end() && found->second.memory.id == memory.id) found->second.failed = true;
}

void Imports::abandon() {
  const std::scoped_lock lock(mutex_);
  for (auto& [base, entry] : entries_) {
    entry.memory.owner = kOwnerUnknown;
    for (auto& [context, mapping] : entry.mappings)
      if (mapping) mapping->abandon();
  }
  ++changes_;
}

}  // namespace polypath::cuda
