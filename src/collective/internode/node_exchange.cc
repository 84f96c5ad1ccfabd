#include "collective/internode/node_exchange.h"

#include <fmt/format.h>

#include <utility>

#include "core/ignore_errors.h"

namespace polypath::collective {
namespace {

std::byte* in_host(Address address) { return reinterpret_cast<std::byte*>(address.value); }

}  // namespace

NodeExchange::Memory::Memory(Driver& of, PlaceId host, Bytes bytes)
    : driver(of), address(of.allocate(host, bytes)) {}

NodeExchange::Memory::~Memory() {
  ignore_errors([&] { driver.free(address); });
}

NodeExchange::NodeExchange(Driver& driver, const Machine& machine, PlaceId gpu, Bytes slot,
                           ProxyGroup group)
    : driver_(driver),
      gpu_(gpu),
      host_(machine.nearest_host(gpu)),
      slot_(slot),
      memory_(driver, host_, slot * (2 * static_cast<std::uint64_t>(kSlots))),
      proxy_(driver, gpu, host_, kSlots, std::move(group)) {
  for (std::uint64_t number = 0; number < kSlots; ++number)
    slots_.push_back({.out = memory_.address + slot * (2 * number),
                      .in = memory_.address + slot * (2 * number + 1),
                      .taken = {}});
}

NodeExchange::~NodeExchange() = default;

void NodeExchange::check(const NodeMessages& messages) const {
  Bytes given, taken;
  for (const auto& each : messages.given) given += each.bytes;
  for (const auto& each : messages.taken) taken += each.bytes;
  if (given <= slot_ && taken <= slot_) return;
  fail(ErrorCode::internal, "a piece of a collective does not go into a slot",
       fmt::format("{} and {} bytes in slots of {}", given.value, taken.value, slot_.value));
}

void NodeExchange::copy(Address to, PlaceId at, Address from, PlaceId source, Bytes bytes,
                        StreamHandle stream) const {
  if (bytes.value == 0) return;
  driver_.copy({.destination = to,
                .destination_place = at,
                .source = from,
                .source_place = source,
                .bytes = bytes},
               stream);
}

void NodeExchange::start(int slot, const NodeMessages& messages, StreamHandle stream) {
  check(messages);
  Slot& used = slots_[static_cast<std::size_t>(slot)];
  Exchange exchange;
  Address at = used.out;
  for (const auto& each : messages.given) {
    copy(at, host_, each.from, gpu_, each.bytes, stream);
    for (const int to : each.to) exchange.out.push_back({to, {in_host(at), each.bytes.value}});
    at = at + each.bytes;
  }
  at = used.in;
  for (const auto& each : messages.taken) {
    exchange.in.push_back({each.from, {in_host(at), each.bytes.value}});
    at = at + each.bytes;
  }
  used.taken = messages.taken;
  proxy_.start(slot, std::move(exchange), stream);
}

void NodeExchange::finish(int slot, StreamHandle stream) {
  const Slot& used = slots_[static_cast<std::size_t>(slot)];
  proxy_.finish(slot, stream);
  Address at = used.in;
  for (const auto& each : used.taken) {
    copy(each.to, gpu_, at, host_, each.bytes, stream);
    at = at + each.bytes;
  }
}

}  // namespace polypath::collective
