// Flags of the simulated driver: words that streams write and wait for, and memory that other ranks
// reach.

#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "core/error.h"
#include "driver/sim/sim_driver.h"
#include "model/program.h"

namespace polypath::sim {

void SimDriver::check_flag(Address address, PlaceId place) const {
  if (address.value % sizeof(std::uint32_t) != 0)
    fail(ErrorCode::invalid_argument, fmt::format("0x{:x} cannot be a flag", address.value),
         "flags have 4 bytes, and lie at multiples of that", "Correct the address.");
  (void)memory_.check(address, kFlagBytes, place, "flag");
}

FlagRequest SimDriver::flag_request(StreamHandle stream, Address address, PlaceId place,
                                    std::uint32_t value) {
  check_flag(address, place);
  return {.address = address, .place = place, .gpu = stream_of(stream).gpu, .value = value};
}

void SimDriver::write_value(StreamHandle stream, Address address, PlaceId place,
                            std::uint32_t value) {
  const std::scoped_lock lock(mutex_);
  const FlagRequest request = flag_request(stream, address, place, value);
  count(Call::write_value);
  Stream& target = stream_of(stream);
  issue_at(target.gpu);
  spend(machine_.driver.flag_call);
  append(make_write(request, note_write(target.thread), machine_.driver.flag_latency), target);
}

void SimDriver::wait_value(StreamHandle stream, Address address, PlaceId place,
                           std::uint32_t value) {
  const std::scoped_lock lock(mutex_);
  FlagRequest request = flag_request(stream, address, place, value);
  request.waits = true;
  count(Call::wait_value);
  Stream& target = stream_of(stream);
  issue_at(target.gpu);
  spend(machine_.driver.flag_call);
  append(make_wait(request, note_wait(target.thread)), target);
  target.waited = true;
}

// Modelled at the thread's cost of putting a write into a stream; a store costs less. A rank that
// gives up signals until some time has passed.
void SimDriver::signal(Address address, PlaceId place, std::uint32_t value) {
  const std::scoped_lock lock(mutex_);
  check_flag(address, place);
  issue_at(place);
  spend(machine_.driver.flag_call);
  const FlagRequest request{.address = address, .place = place, .gpu = {}, .value = value};
  append(make_write(request, note_write(signals_.thread), machine_.driver.flag_latency), signals_);
}

MomentPointer SimDriver::note_write(std::size_t thread) {
  order_.perform(thread, [this, thread] { races_.step(thread); });
  return order_.mark(thread);
}

SimDriver::AwaitedFlag SimDriver::note_wait(std::size_t thread) {
  AwaitedFlag awaited{OrderLog::unknown(), std::make_shared<FlagWait>()};
  order_.join(thread, awaited.end);
  order_.perform(thread, [this, thread] { races_.step(thread); });
  awaited.wait->self = order_.mark(thread);
  return awaited;
}

ActivityPointer SimDriver::make_write(const FlagRequest& request, const MomentPointer& writer,
                                      Seconds latency) {
  ActivityPointer activity = make_marker();
  activity->gpu = request.gpu;
  activity->on_done = [this, request, writer, latency, block = memory_.find(request.address),
                       value = request.then.value_or(request.value)](const Activity&) {
    std::byte* const word = block->bytes_at(request.address);
    if (options_.move_bytes) std::memcpy(word, &value, sizeof value);
    std::string race;
    for (const ActivityPointer& going : flags_.written(word, value, writer, race))
      fluid_.resume(going, latency);
    if (value != 0) abandon_mailbox(request.address, block, latency);
    if (options_.check_races && !race.empty()) report(race);
  };
  return activity;
}

ActivityPointer SimDriver::make_wait(const FlagRequest& request, const AwaitedFlag& awaited) {
  ActivityPointer activity = make_marker();
  activity->gpu = request.gpu;
  awaited.wait->value = request.value;
  activity->may_go_on = [this, wait = awaited.wait, address = request.address,
                         block = memory_.find(request.address)](const ActivityPointer& reached) {
    const std::byte* const word = block->bytes_at(address);
    Flags::Contents now;
    if (options_.move_bytes) std::memcpy(&now.emplace(), word, sizeof *now);
    return flags_.reach(word, now, wait, reached);
  };
  activity->on_done = [this, awaited](const Activity&) {
    const MomentPointer& writer = awaited.wait->seen;
    order_.settle(awaited.end, writer ? writer->clock : Clock{});
  };
  return activity;
}

// Of one process, which has one driver: the address says it all.
ExportedMemory SimDriver::export_memory(Address address) {
  const std::scoped_lock lock(mutex_);
  const BlockPointer block = memory_.find(address);
  if (!block)
    fail(ErrorCode::invalid_argument, fmt::format("0x{:x} cannot be shared", address.value),
         "it is in no live allocation", "Pass an address that allocate returned.");
  count(Call::export_memory);
  ExportedMemory memory(sizeof address.value);
  std::memcpy(memory.data(), &address.value, memory.size());
  return memory;
}

Address SimDriver::import_memory(const ExportedMemory& memory, PlaceId gpu) {
  const std::scoped_lock lock(mutex_);
  check_gpu(gpu);
  Address address;
  if (memory.size() == sizeof address.value)
    std::memcpy(&address.value, memory.data(), memory.size());
  if (!memory_.find(address))
    fail(ErrorCode::invalid_argument, "memory cannot be imported",
         "these bytes name no live allocation", "Pass what export_memory returned.");
  count(Call::import_memory);
  ++imports_[address];
  return address;
}

void SimDriver::release_import(Address address) {
  const std::scoped_lock lock(mutex_);
  const auto found = imports_.find(address);
  if (found == imports_.end())
    fail(ErrorCode::invalid_argument, fmt::format("0x{:x} cannot be given back", address.value),
         "import_memory did not return it, or it was given back", "Give each import back once.");
  count(Call::release_import);
  if (--found->second == 0) imports_.erase(found);
}

}  // namespace polypath::sim
