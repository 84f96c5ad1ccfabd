#include "mpi/one_sided_calls.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "mpi/bottom.h"
#include "mpi/element.h"

namespace polypath::mpi {
namespace {

// What is in the GPU's default stream comes before copies by another GPU, too.
void settle(const Surroundings& around, const void* memory) {
  const auto found = around.driver.find_memory(address_of(memory));
  if (found && around.machine.place(found->place).kind == PlaceKind::gpu)
    around.driver.synchronize(around.default_stream(found->place));
}

}  // namespace

bool OneSidedCalls::is_from_gpu(const OneSidedCall& call) const {
  for (const Elements* each : {&call.origin, &call.compare, &call.result})
    if (is_from_gpu(*each)) return true;
  return false;
}

bool OneSidedCalls::is_from_gpu(const Elements& elements) const {
  if (elements.count <= 0) return false;
  if (elements.memory != nullptr) return gpu_of_(elements.memory).has_value();
  return gpu_of_elements(gpu_of_, nullptr, range_of(library_, elements)).has_value();
}

bool OneSidedCalls::writes(const OneSidedCall& call) const {
  return call.operation != OneSided::get && call.reduction != library_.no_operation;
}

// Elements without gaps are bytes in one order on both sides.
bool OneSidedCalls::copy_at_once(const OneSidedCall& call, const Reached& target) const {
  if (call.is_atomic()) return false;
  const bool puts = call.operation == OneSided::put;
  const Elements& own = puts ? call.origin : call.result;
  const auto here = element_of(library_, own.type);
  const auto there = element_of(library_, call.target_type);
  if (!here || !there) return false;
  const Count bytes = static_cast<Count>(here->bytes().value) * own.count;
  if (bytes != static_cast<Count>(there->bytes().value) * call.target_count) return false;
  if (is_from_gpu(own)) settle(*target.around, own.memory);
  if (puts) target.write(own.memory, bytes);
  else target.read(own.memory, bytes);
  return true;
}

HostElements OneSidedCalls::copied(const Elements& elements, const Surroundings& around) {
  HostElements in_host(elements.memory);
  if (!is_from_gpu(elements)) return in_host;
  TypeLayout layout = layout_of(library_, self_, elements.type, elements.count);
  if (layout.range.is_empty()) return in_host;
  const Address address = address_of(elements.memory);
  const auto found = find_elements(around.driver, elements.memory, layout.range);
  if (!found) return in_host;
  return HostElements({.memory = {.around = &around, .address = address, .gpu = found->place},
                       .layout = std::move(layout)});
}

HostSides OneSidedCalls::copied(const OneSidedCall& call, const Surroundings& around) {
  HostSides sides{.origin = copied(call.origin, around),
                  .compare = copied(call.compare, around),
                  .result = copied(call.result, around)};
  sides.origin.read();
  sides.compare.read();
  return sides;
}

Count OneSidedCalls::divisible(const OneSidedCall& call) const {
  const auto element = element_of(library_, call.target_type);
  if (!element || !call.is_atomic() || call.origin.count != call.target_count) return 0;
  if (call.origin.type != call.target_type) return 0;
  const Elements& result = call.result;
  if (result.memory != nullptr &&
      (result.type != call.target_type || result.count != call.target_count))
    return 0;
  return static_cast<Count>(element->bytes().value);
}

// MPI promises that each element is alone, not that all of a call are. A window of the host may be
// small.
Result OneSidedCalls::on_gpu(const OneSidedCall& call, const RealOneSided& real,
                             const Reached& target) {
  constexpr Count kMostBytes = 1 << 20;
  if (copy_at_once(call, target)) return kSuccess;
  const Count bytes = divisible(call);
  if (bytes * call.target_count <= kMostBytes) return by_mpi(call, real, target, -1);
  const Count most = kMostBytes / bytes;
  for (Count done = 0; done < call.target_count; done += most) {
    OneSidedCall piece = call;
    const Count share = std::min(most, call.target_count - done);
    for (Elements* each : {&piece.origin, &piece.result}) {
      if (each->memory != nullptr)
        each->memory = static_cast<std::byte*>(each->memory) + done * bytes;
      each->count = share;
    }
    piece.target_count = share;
    const Result result = by_mpi(piece, real, target.at(done * bytes), share);
    if (result != kSuccess) return result;
  }
  return kSuccess;
}

Result OneSidedCalls::by_mpi(const OneSidedCall& call, const RealOneSided& real,
                             const Reached& target, Count share) {
  const HostSides sides = copied(call, *target.around);
  const DeviceElements there{
      .memory = target, .layout = layout_of(library_, self_, call.target_type, call.target_count)};
  const Count lead = there.layout.lead();
  Instead instead = sides.instead_of(call);
  instead.target = 0;
  instead.displacement = lead;
  instead.share = share;
  const Result result = self_.run(
      there.layout.room(),
      [&](std::byte* memory) {
        if (call.operation != OneSided::put) there.read(memory + lead);
      },
      [&](Handle window) {
        instead.window = window;
        return real(instead);
      },
      [&](std::byte* memory) {
        if (writes(call)) there.write(memory + lead);
      });
  if (result == kSuccess) sides.result.write();
  return result;
}

}  // namespace polypath::mpi
