#include "standin/state/pools.h"

#include <algorithm>
#include <utility>

namespace polypath::standin {
namespace {

constexpr std::uint64_t kAlignment = 512;
constexpr std::byte kGarbage{0x5a};

}  // namespace

std::uintptr_t Pools::create(Pool pool) {
  pool.access = std::make_shared<GpuAccess>(GpuAccess{{pool.ordinal, kMayWrite}});
  pools_[++last_] = std::move(pool);
  return last_;
}

Pool& Pools::find(std::uintptr_t pool) {
  const auto found = pools_.find(pool);
  if (found == pools_.end()) refuse(kInvalidValue, "the pool is none, or no more");
  return found->second;
}

void Pools::destroy(std::uintptr_t pool) {
  (void)find(pool);
  pools_.erase(pool);
}

std::uintptr_t Pools::default_of(int ordinal, PlaceId gpu) {
  std::uintptr_t& pool = defaults_[ordinal];
  if (pool == 0) pool = create({.ordinal = ordinal, .gpu = gpu, .handle_types = 0, .access = {}});
  return pool;
}

bool Pools::is_over(const Spare& spare) {
  return spare.given.value == 0 || runner_.is_done(spare.given);
}

Allocation* Pools::take_spare(std::uintptr_t pool, Bytes bytes, StreamHandle stream) {
  const auto fits = [&](const Spare& spare) {
    const Allocation& memory = allocations_.get(spare.begin);
    return memory.pool == pool && memory.size == bytes &&
           (spare.stream == stream || is_over(spare));
  };
  const auto found = std::find_if(spare_.begin(), spare_.end(), fits);
  if (found == spare_.end()) return nullptr;
  Allocation& memory = allocations_.get(found->begin);
  if (found->given.value != 0) runner_.destroy_event(found->given);
  spare_.erase(found);
  memory.freed = false;
  allocations_.renew(memory);
  return &memory;
}

Address Pools::add(std::uintptr_t number, Bytes bytes) {
  const Pool& pool = find(number);
  Allocation memory;
  memory.origin = MemoryOrigin::pooled;
  memory.size = bytes;
  memory.ordinal = pool.ordinal;
  memory.segment = Segment::create(bytes);
  memory.access = pool.access;
  memory.handle_types = pool.handle_types;
  memory.pool = number;
  return allocations_.add_device(pool.gpu, std::move(memory));
}

Address Pools::allocate(std::uintptr_t pool, Bytes bytes, StreamHandle stream) {
  if (bytes.value == 0) refuse(kInvalidValue, "an allocation has at least one byte");
  const Bytes size{(bytes.value + kAlignment - 1) / kAlignment * kAlignment};
  const Allocation* memory = take_spare(pool, size, stream);
  if (memory == nullptr) memory = &allocations_.get(add(pool, size));
  spoil(*memory, stream);
  return memory->base;
}

void Pools::spoil(const Allocation& memory, StreamHandle stream) {
  (void)runner_.fill(memory.base, memory.size, {kGarbage}, Returns::at_once, stream);
}

Allocation& Pools::given_out(Address begin) {
  Allocation& memory = allocations_.get(begin);
  if (memory.origin != MemoryOrigin::pooled || memory.base != begin || memory.freed)
    refuse(kInvalidValue, "no pool gave that out");
  return memory;
}

void Pools::free(Address begin, StreamHandle stream) {
  Allocation& memory = given_out(begin);
  spoil(memory, stream);
  const EventHandle given = runner_.create_event(memory.gpu);
  runner_.record(given, stream);
  memory.freed = true;
  spare_.push_back({.begin = begin, .stream = stream, .given = given});
}

void Pools::free_now(Address begin) {
  Allocation& memory = given_out(begin);
  memory.freed = true;
  memory.segment->spoil();
  spare_.push_back({.begin = begin, .stream = {}, .given = {}});
}

void Pools::give_up(const Spare& spare) {
  if (spare.given.value != 0) runner_.destroy_event(spare.given);
  allocations_.remove(spare.begin, MemoryOrigin::pooled, kInvalidValue);
}

void Pools::trim() {
  const auto kept = std::stable_partition(spare_.begin(), spare_.end(),
                                          [&](const Spare& spare) { return !is_over(spare); });
  std::for_each(kept, spare_.end(), [&](const Spare& spare) { give_up(spare); });
  spare_.erase(kept, spare_.end());
}

}  // namespace polypath::standin
