#include "driver/sim/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include "core/error.h"
#include "core/text.h"

namespace polypath::sim {

Block::Block(PlaceId place, Bytes size, bool backed) : place_(place), size_(size) {
  const int access = backed ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* base =
      mmap(nullptr, size.value, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    fail(ErrorCode::out_of_memory, fmt::format("{} cannot be allocated", describe_bytes(size)),
         "the host that simulates has no room for it", "Use smaller sizes.");
  base_ = {reinterpret_cast<std::uintptr_t>(base)};
}

Block::~Block() { munmap(reinterpret_cast<void*>(base_.value), size_.value); }

Address Memory::allocate(PlaceId place, Bytes bytes) {
  auto block = std::make_shared<Block>(place, bytes, backed_);
  const Address base = block->info().base;
  blocks_[base.value] = std::move(block);
  return base;
}

BlockPointer Memory::remove(Address address) {
  const auto found = blocks_.find(address.value);
  if (found == blocks_.end()) return nullptr;
  BlockPointer block = found->second;
  blocks_.erase(found);
  return block;
}

BlockPointer Memory::find(Address address) const {
  auto after = blocks_.upper_bound(address.value);
  if (after == blocks_.begin()) return nullptr;
  const BlockPointer& block = std::prev(after)->second;
  const MemoryInfo info = block->info();
  return address.value - info.base.value < info.size.value ? block : nullptr;
}

BlockPointer Memory::check(Address begin, Bytes bytes, PlaceId place,
                           const std::string& what) const {
  BlockPointer block = find(begin);
  if (!block)
    fail(ErrorCode::invalid_argument,
         fmt::format("{} 0x{:x} is in no live allocation", what, begin.value),
         "it was never allocated here, or has been freed",
         "Pass an address that allocate returned.");
  const MemoryInfo info = block->info();
  const std::uint64_t left = info.base.value + info.size.value - begin.value;
  if (bytes.value > left)
    fail(ErrorCode::invalid_argument, fmt::format("{} range is too long", what),
         fmt::format("{} bytes are left in its allocation, not {}", left, bytes.value),
         "Correct the size or the offset.");
  if (info.place != place)
    fail(ErrorCode::invalid_argument, fmt::format("{} is not where the copy says", what),
         "its allocation belongs to another place", "Pass the place it was allocated at.");
  return block;
}

}  // namespace polypath::sim
