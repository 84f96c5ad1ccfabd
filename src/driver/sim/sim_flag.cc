#include "driver/sim/sim_flag.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "core/error.h"
#include "model/program.h"

namespace polypath::sim {

void SimFlags::check(Address address, PlaceId place) const {
  if (address.value % sizeof(std::uint32_t) != 0)
    fail(ErrorCode::invalid_argument, fmt::format("0x{:x} cannot be a flag", address.value),
         "flags have 4 bytes, and lie at multiples of that", "Correct the address.");
  (void)memory_.check(address, kFlagBytes, place, "flag");
}

FlagRequest SimFlags::request_of(StreamHandle stream, Address address, PlaceId place,
                                 std::uint32_t value) {
  check(address, place);
  return {.address = address, .place = place, .gpu = streams_.at(stream).gpu, .value = value};
}

void SimFlags::write_value(StreamHandle stream, Address address, PlaceId place,
                           std::uint32_t value) {
  const FlagRequest request = request_of(stream, address, place, value);
  simulation_.count(Call::write_value);
  SimStream& target = streams_.at(stream);
  simulation_.spend_at(target.gpu, simulation_.machine.driver.flag_call);
  streams_.append(
      make_write(request, note_write(target.thread), simulation_.machine.driver.flag_latency),
      target);
}

void SimFlags::wait_value(StreamHandle stream, Address address, PlaceId place,
                          std::uint32_t value) {
  FlagRequest request = request_of(stream, address, place, value);
  request.waits = true;
  simulation_.count(Call::wait_value);
  SimStream& target = streams_.at(stream);
  simulation_.spend_at(target.gpu, simulation_.machine.driver.flag_call);
  streams_.append(make_wait(request, note_wait(target.thread)), target);
  target.waited = true;
}

// Modelled at the thread's cost of putting a write into a stream; a store costs less. A rank that
// gives up signals until some time has passed.
void SimFlags::signal(Address address, PlaceId place, std::uint32_t value) {
  check(address, place);
  simulation_.spend_at(place, simulation_.machine.driver.flag_call);
  const FlagRequest request{.address = address, .place = place, .gpu = {}, .value = value};
  streams_.append(make_write(request, note_write(streams_.signals().thread),
                             simulation_.machine.driver.flag_latency),
                  streams_.signals());
}

MomentPointer SimFlags::note_write(std::size_t thread) {
  simulation_.order.perform(thread, [this, thread] { simulation_.races.step(thread); });
  return simulation_.order.mark(thread);
}

AwaitedFlag SimFlags::note_wait(std::size_t thread) {
  AwaitedFlag awaited{OrderLog::unknown(), std::make_shared<FlagWait>()};
  simulation_.order.join(thread, awaited.end);
  simulation_.order.perform(thread, [this, thread] { simulation_.races.step(thread); });
  awaited.wait->self = simulation_.order.mark(thread);
  return awaited;
}

ActivityPointer SimFlags::make_write(const FlagRequest& request, const MomentPointer& writer,
                                     Seconds latency) {
  ActivityPointer activity = simulation_.make_marker();
  activity->gpu = request.gpu;
  activity->on_done = [this, request, writer, latency, block = memory_.block_at(request.address),
                       value = request.then.value_or(request.value)](const Activity&) {
    std::byte* const word = block->bytes_at(request.address);
    if (simulation_.options.move_bytes) std::memcpy(word, &value, sizeof value);
    std::string race;
    for (const ActivityPointer& going : simulation_.flags.written(word, value, writer, race))
      simulation_.fluid.resume(going, latency);
    if (value != 0) mailboxes_.note_set(request.address, *block, latency);
    if (simulation_.options.check_races && !race.empty()) simulation_.findings.report(race);
  };
  return activity;
}

ActivityPointer SimFlags::make_wait(const FlagRequest& request, const AwaitedFlag& awaited) {
  ActivityPointer activity = simulation_.make_marker();
  activity->gpu = request.gpu;
  awaited.wait->value = request.value;
  activity->may_go_on = [this, wait = awaited.wait, address = request.address,
                         block =
                             memory_.block_at(request.address)](const ActivityPointer& reached) {
    const std::byte* const word = block->bytes_at(address);
    Flags::Contents now;
    if (simulation_.options.move_bytes) std::memcpy(&now.emplace(), word, sizeof *now);
    return simulation_.flags.reach(word, now, wait, reached);
  };
  activity->on_done = [this, awaited](const Activity&) {
    const MomentPointer& writer = awaited.wait->seen;
    simulation_.order.settle(awaited.end, writer ? writer->clock : Clock{});
  };
  return activity;
}

}  // namespace polypath::sim
