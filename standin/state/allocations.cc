#include "standin/state/allocations.h"

#include <utility>
#include <vector>

namespace polypath::standin {
namespace {

class DeviceMemory final : public sim::Backing {
 public:
  DeviceMemory(Address base, std::shared_ptr<Segment> segment)
      : base_(base), segment_(std::move(segment)) {}
  Address base() const override { return base_; }
  std::byte* bytes() const override { return segment_->bytes(); }

 private:
  Address base_;
  std::shared_ptr<Segment> segment_;
};

class OwnMemory final : public sim::Backing {
 public:
  explicit OwnMemory(Address base) : base_(base) {}
  Address base() const override { return base_; }
  std::byte* bytes() const override { return reinterpret_cast<std::byte*>(base_.value); }

 private:
  Address base_;
};

}  // namespace

Allocation& Allocations::add(Allocation memory) {
  memory.id = ++last_id_;
  return table_[memory.base] = std::move(memory);
}

Address Allocations::add_device(PlaceId gpu, Allocation memory) {
  memory.gpu = gpu;
  memory.base = addresses_.take(memory.size);
  runner_.adopt(gpu, memory.size, std::make_unique<DeviceMemory>(memory.base, memory.segment));
  return add(std::move(memory)).base;
}

void Allocations::add_mapped(PlaceId gpu, Allocation memory, std::shared_ptr<Window> window) {
  memory.gpu = gpu;
  runner_.adopt(gpu, memory.size,
                std::make_unique<ShownMemory>(std::move(window), memory.segment, memory.reserved,
                                              memory.base, memory.size));
  add(std::move(memory));
}

Address Allocations::add_host(PlaceId host, Allocation memory) {
  memory.base = runner_.allocate(host, memory.size);
  return add(std::move(memory)).base;
}

void Allocations::add_registered(PlaceId host, Allocation memory) {
  runner_.adopt(host, memory.size, std::make_unique<OwnMemory>(memory.base));
  add(std::move(memory));
}

void Allocations::remove(Address base, MemoryOrigin origin, Result otherwise) {
  const auto found = table_.find(base);
  if (found == table_.end() || found->second.origin != origin)
    refuse(otherwise, "no such memory begins there");
  give_up(found->second);
  table_.erase(found);
}

void Allocations::give_up(const Allocation& memory) {
  runner_.free(memory.base);
  const bool mapped = memory.origin == MemoryOrigin::mapped;
  if (memory.segment && !mapped) addresses_.give_back(memory.base, memory.size);
  const bool is_gone = mapped ? !memory.lives_on : memory.origin == MemoryOrigin::device;
  if (chaotic_ && is_gone) memory.segment->spoil();
}

Allocation* Allocations::find(Address address) {
  const auto after = table_.upper_bound(address);
  if (after == table_.begin()) return nullptr;
  Allocation& memory = std::prev(after)->second;
  return address.value - memory.base.value < memory.size.value ? &memory : nullptr;
}

Allocation& Allocations::get(Address address) {
  if (Allocation* memory = find(address)) return *memory;
  refuse(kInvalidValue, "the driver knows no memory there");
}

bool Allocations::overlaps(Address begin, Bytes bytes) const {
  const auto after = table_.lower_bound(begin + bytes);
  if (after == table_.begin()) return false;
  const Allocation& memory = std::prev(after)->second;
  return memory.base + memory.size > begin;
}

Allocation* Allocations::find_import(const SegmentName& name, ContextPointer context) {
  for (auto& [base, memory] : table_)
    if (memory.origin == MemoryOrigin::imported && memory.context == context &&
        memory.segment->name().process_nonce == name.process_nonce &&
        memory.segment->name().serial == name.serial)
      return &memory;
  return nullptr;
}

Bytes Allocations::used(int ordinal) const {
  Bytes used;
  for (const auto& [base, memory] : table_)
    if ((memory.origin == MemoryOrigin::device || memory.origin == MemoryOrigin::pooled) &&
        memory.ordinal == ordinal)
      used += memory.size;
  return used;
}

void Allocations::remove_all(ContextPointer context) {
  std::erase_if(table_, [&](const auto& entry) {
    if (entry.second.context != context) return false;
    give_up(entry.second);
    return true;
  });
}

}  // namespace polypath::standin
