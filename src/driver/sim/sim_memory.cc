// The simulated driver's memory: allocations, where their bytes are, and their users.

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "driver/sim/repeat.h"
#include "driver/sim/sim_driver.h"
#include "kernels/mailbox_layout.h"

namespace polypath::sim {
namespace {

Address address_of(const std::byte* bytes) { return {reinterpret_cast<std::uintptr_t>(bytes)}; }

}  // namespace

void SimDriver::check_place(PlaceId place) const {
  if (place.valid() && place.index() < machine_.places.size()) return;
  fail(ErrorCode::invalid_argument, fmt::format("place number {} cannot be used", place.value),
       fmt::format("the machine has {} places", machine_.places.size()), "Correct it.");
}

Address SimDriver::allocate(PlaceId place, Bytes bytes) {
  const std::scoped_lock lock(mutex_);
  check_place(place);
  if (bytes.value == 0)
    fail(ErrorCode::invalid_argument,
         fmt::format("0 bytes cannot be allocated at {}", machine_.place(place).name),
         "a size is at least 1", "Correct it.");
  count(Call::allocate);
  return memory_.allocate(place, bytes);
}

// The host's new pages are zeros, and take nothing until they are used.
Address SimDriver::allocate_zeros(PlaceId place, Bytes bytes) { return allocate(place, bytes); }

Address SimDriver::adopt(PlaceId place, Bytes bytes, std::unique_ptr<Backing> backing) {
  const std::scoped_lock lock(mutex_);
  check_place(place);
  return memory_.adopt(place, bytes, std::move(backing));
}

void SimDriver::free(Address address) {
  const std::scoped_lock lock(mutex_);
  const BlockPointer block = memory_.remove(address);
  if (!block)
    fail(ErrorCode::invalid_argument, fmt::format("allocation {} does not exist", address.value),
         "it was never created here, or has been destroyed", "Pass one that is alive.");
  const MemoryInfo info = block->info();
  const Region region{address_of(block->bytes_at(info.base)), info.size, info.base};
  if (options_.check_races && races_.in_use(region))
    report(fmt::format("use after free: {} at {} freed while queued work uses it",
                       describe_bytes(info.size), machine_.place(info.place).name));
  races_.forget(region);
  count(Call::free);
  if (groups_.erase(address) > 0) flags_.forget(block->bytes_at(address + Bytes{kMailAbandoned}));
}

void SimDriver::fill(Address destination, Bytes bytes, const std::vector<std::byte>& pattern,
                     StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  Stream& target = stream_of(stream);
  const auto memory = memory_at(destination);
  if (bytes.value == 0 || pattern.empty() || bytes.value % pattern.size() != 0 || !memory)
    fail(ErrorCode::invalid_argument, fmt::format("{} bytes cannot be filled", bytes.value),
         fmt::format("the pattern has {} bytes, and all of it must fit", pattern.size()),
         "Correct the size or the address.");
  const BlockPointer block = memory_.check(destination, bytes, memory->place, "destination");
  count(Call::copy);
  issue_at(target.gpu);
  spend(costs_.copy);
  step(target.thread, {touch(destination, bytes, true)},
       fmt::format("fill of {} bytes", bytes.value));
  const ActivityPointer activity = make_marker();
  if (options_.move_bytes)
    activity->on_done = [=](const Activity&) {
      repeat(block->bytes_at(destination), bytes.value, pattern);
    };
  Fluid::order(target.tail, activity, {});
  fluid_.submit(activity);
  target.tail = activity;
}

void SimDriver::step(const CopyRequest& request, std::size_t thread) {
  if (!options_.check_races) return step(thread, {}, {});
  std::string what = fmt::format("copy of {} bytes from {} to {} (path {}, chunk {})",
                                 request.bytes.value, machine_.place(request.source_place).name,
                                 machine_.place(request.destination_place).name, request.label.path,
                                 request.label.chunk);
  step(thread,
       {touch(request.source, request.bytes, false),
        touch(request.destination, request.bytes, true)},
       std::move(what));
}

void SimDriver::step(std::size_t thread, std::vector<Touch> touches, std::string what) {
  order_.perform(thread, [this, thread, touches = std::move(touches), what = std::move(what)] {
    races_.step(thread);
    if (!options_.check_races) return;
    for (const Touch& each : touches) {
      const std::string race = races_.access(thread, each.region, each.writes, what);
      if (!race.empty()) report(race);
    }
  });
}

// By where the bytes are: the same ones may be known by several addresses.
SimDriver::Touch SimDriver::touch(Address begin, Bytes bytes, bool writes) const {
  const BlockPointer block = memory_.find(begin);
  const Address base = block ? block->info().base : Address{};
  return {{address_of(bytes_at(begin)), bytes, base}, writes};
}

// Ordinary memory of the program is where it says.
std::byte* SimDriver::bytes_at(Address address) const {
  const BlockPointer block = memory_.find(address);
  return block ? block->bytes_at(address) : reinterpret_cast<std::byte*>(address.value);
}

}  // namespace polypath::sim
