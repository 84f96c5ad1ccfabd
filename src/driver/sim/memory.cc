#include "driver/sim/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include "core/error.h"
#include "core/text.h"

namespace polypath::sim {

namespace {

class OrdinaryMemory final : public Backing {
 public:
  OrdinaryMemory(Bytes size, bool touchable) : size_(size) {
    const int access = touchable ? PROT_READ | PROT_WRITE : PROT_NONE;
    base_ = mmap(nullptr, size.value, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base_ == MAP_FAILED)
      fail(ErrorCode::out_of_memory, fmt::format("{} cannot be allocated", describe_bytes(size)),
           "the host that simulates has no room for it", "Use smaller sizes.");
  }
  ~OrdinaryMemory() override { munmap(base_, size_.value); }

  Address base() const override { return {reinterpret_cast<std::uintptr_t>(base_)}; }
  std::byte* bytes() const override { return static_cast<std::byte*>(base_); }

 private:
  void* base_;
  Bytes size_;
};

}  // namespace

Address Memory::allocate(PlaceId place, Bytes bytes) {
  return adopt(place, bytes, std::make_unique<OrdinaryMemory>(bytes, touchable_));
}

Address Memory::adopt(PlaceId place, Bytes bytes, std::unique_ptr<Backing> backing) {
  const Address base = backing->base();
  blocks_[base.value] = std::make_shared<Block>(place, bytes, std::move(backing), ++made_);
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
