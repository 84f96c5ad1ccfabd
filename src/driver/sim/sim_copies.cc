#include "driver/sim/sim_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "core/error.h"
#include "driver/sim/repeat.h"

namespace polypath::sim {
namespace {

bool is_pageable(const MemoryInfo& memory) { return memory.kind == MemoryKind::pageable; }

void check_left(const MemoryInfo& memory, Address begin, Bytes bytes, const char* what) {
  const std::uint64_t left = memory.base.value + memory.size.value - begin.value;
  if (bytes.value > left)
    fail(ErrorCode::invalid_argument, fmt::format("{} range is too long", what),
         fmt::format("{} bytes are left in its memory, not {}", left, bytes.value),
         "Correct the size or the offset.");
}

}  // namespace

void SimCopies::copy(const CopyRequest& request, StreamHandle stream) {
  enqueue_copy(request, streams_.at(stream));
}

void SimCopies::enqueue_copy(const CopyRequest& request, SimStream& target) {
  check(request);
  const HopId hop = hop_of(request);
  simulation_.count(Call::copy);
  enqueue(request, hop, std::nullopt, target);
}

void SimCopies::enqueue(const CopyRequest& request, HopId hop,
                        const std::optional<Reduction>& reduction, SimStream& target) {
  simulation_.spend_at(target.gpu, simulation_.clocks.costs().copy);
  step(request, target.thread);
  streams_.append(make_activity(request, hop, reduction), target);
}

MemoryInfo SimCopies::known(Address address, const char* what) const {
  if (const auto memory = memory_.find_memory(address)) return *memory;
  fail(ErrorCode::invalid_argument,
       fmt::format("{} 0x{:x} is in no live allocation", what, address.value),
       "it was never allocated here, or has been freed", "Pass an address that allocate returned.");
}

void SimCopies::copy_native(const NativeCopy& request, StreamHandle stream) {
  const MemoryInfo to = known(request.destination, "destination");
  const MemoryInfo from = known(request.source, "source");
  const CopyRequest copy = with_places(request, to.place, from.place);
  if (is_pageable(to) || is_pageable(from)) copy_pageable(copy, to, from, streams_.at(stream));
  else enqueue_copy(copy, streams_.at(stream));
}

void SimCopies::copy_pageable(const CopyRequest& request, const MemoryInfo& to,
                              const MemoryInfo& from, SimStream& stream) {
  if (request.bytes.value == 0)
    fail(ErrorCode::invalid_argument, "a copy of 0 bytes", "there is nothing to copy");
  check_left(to, request.destination, request.bytes, "destination");
  check_left(from, request.source, request.bytes, "source");
  simulation_.count(Call::copy);
  simulation_.clocks.spend(simulation_.clocks.costs().copy);
  if (stream.tail)
    simulation_.play_until(*stream.tail, "work before a native copy,", request.source.value);
  step(request, stream.thread);
  simulation_.races.join_host(simulation_.races.clock(stream.thread));
  const bool inward = simulation_.machine.place(to.place).kind == PlaceKind::gpu;
  const DriverBehaviour& driver = simulation_.machine.driver;
  simulation_.clocks.spend(request.bytes / (inward ? driver.pageable_in : driver.pageable_out));
  simulation_.fluid.advance_to(simulation_.clocks.meet_nodes());
  if (simulation_.options.move_bytes)
    std::memmove(memory_.bytes_at(request.destination), memory_.bytes_at(request.source),
                 request.bytes.value);
}

void SimCopies::reduce(const CopyRequest& request, const Reduction& reduction,
                       StreamHandle stream) {
  SimStream& target = streams_.at(stream);
  check_reduction(request, reduction);
  streams_.check_gpu(stream, request.destination_place, "reduce memory");
  simulation_.count(Call::reduce);
  enqueue(request, {}, reduction, target);
}

void SimCopies::fill(Address destination, Bytes bytes, const std::vector<std::byte>& pattern,
                     StreamHandle stream) {
  SimStream& target = streams_.at(stream);
  const auto memory = memory_.find_memory(destination);
  if (bytes.value == 0 || pattern.empty() || bytes.value % pattern.size() != 0 || !memory)
    fail(ErrorCode::invalid_argument, fmt::format("{} bytes cannot be filled", bytes.value),
         fmt::format("the pattern has {} bytes, and all of it must fit", pattern.size()),
         "Correct the size or the address.");
  const BlockPointer block = memory_.check(destination, bytes, memory->place, "destination");
  simulation_.count(Call::copy);
  simulation_.spend_at(target.gpu, simulation_.clocks.costs().copy);
  simulation_.step(target.thread, {memory_.touch(destination, bytes, true)},
                   fmt::format("fill of {} bytes", bytes.value));
  const ActivityPointer activity = simulation_.make_marker();
  if (simulation_.options.move_bytes)
    activity->on_done = [=](const Activity&) {
      repeat(block->bytes_at(destination), bytes.value, pattern);
    };
  Fluid::order(target.tail, activity, {});
  simulation_.fluid.submit(activity);
  target.tail = activity;
}

void SimCopies::check(const CopyRequest& request) const {
  if (request.bytes.value == 0)
    fail(ErrorCode::invalid_argument, "a copy of 0 bytes", "there is nothing to copy");
  (void)memory_.check(request.source, request.bytes, request.source_place, "source");
  (void)memory_.check(request.destination, request.bytes, request.destination_place, "destination");
  if (request.source + request.bytes <= request.destination ||
      request.destination + request.bytes <= request.source)
    return;
  fail(ErrorCode::invalid_argument, "the source and the destination of a copy overlap",
       "the result would depend on the order of bytes", "Copy through a third buffer.");
}

void SimCopies::check_reduction(const CopyRequest& request, const Reduction& reduction) const {
  check(request);
  simulation_.check_gpu(request.destination_place);
  driver::check_reduction(request, reduction);
}

// No hop within one place: such a copy takes no time here.
HopId SimCopies::hop_of(const CopyRequest& request) const {
  if (request.source_place == request.destination_place) return {};
  const auto hop = simulation_.machine.find_hop(request.source_place, request.destination_place);
  if (hop) return {hop->value, request.pulled};
  fail(ErrorCode::invalid_argument,
       fmt::format("no copy leads from {} to {}",
                   simulation_.machine.place(request.source_place).name,
                   simulation_.machine.place(request.destination_place).name),
       "the machine has no hop between them");
}

ActivityPointer SimCopies::make_activity(const CopyRequest& request, HopId hop,
                                         const std::optional<Reduction>& reduction) {
  auto activity = std::make_shared<Activity>();
  activity->hop = hop;
  activity->bytes = request.bytes;
  activity->issued = simulation_.clocks.time();
  if (reduction) {
    activity->gpu = request.destination_place;
    activity->duration = simulation_.machine.reduction_time(activity->gpu, request.bytes);
  }
  if (!simulation_.options.move_bytes && !simulation_.options.record_trace) return activity;
  // The blocks are kept so that the bytes outlive a premature free, which is reported.
  activity->on_done = [this, request, reduction, from = memory_.block_at(request.source),
                       to = memory_.block_at(request.destination)](const Activity& done) {
    if (simulation_.options.move_bytes) move_bytes(request, reduction, *to, *from);
    simulation_.findings.note_finished(request.label, done);
  };
  return activity;
}

void SimCopies::move_bytes(const CopyRequest& request, const std::optional<Reduction>& reduction,
                           const Block& to, const Block& from) const {
  std::byte* const destination = to.bytes_at(request.destination);
  const std::byte* const source = from.bytes_at(request.source);
  if (reduction) reduce_on_host(*reduction, destination, source, request.bytes);
  else std::memmove(destination, source, request.bytes.value);
  Flip* const flip = simulation_.options.flip;
  if (flip == nullptr || ++flip->done != flip->at) return;
  constexpr std::uint64_t kMost = 8;
  for (std::uint64_t i = 0; i < std::min(kMost, request.bytes.value); ++i)
    destination[i] ^= std::byte{0xff};
}

void SimCopies::step(const CopyRequest& request, std::size_t thread) {
  if (!simulation_.options.check_races) return simulation_.step(thread, {}, {});
  std::string what =
      fmt::format("copy of {} bytes from {} to {} (path {}, chunk {})", request.bytes.value,
                  simulation_.machine.place(request.source_place).name,
                  simulation_.machine.place(request.destination_place).name, request.label.path,
                  request.label.chunk);
  simulation_.step(thread,
                   {memory_.touch(request.source, request.bytes, false),
                    memory_.touch(request.destination, request.bytes, true)},
                   std::move(what));
}

}  // namespace polypath::sim
