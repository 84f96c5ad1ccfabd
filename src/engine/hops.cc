#include "engine/hops.h"

#include "core/error.h"

namespace polypath {
namespace {

// Giving back must not throw: a driver that fails here keeps the thing, and that is all it can do.
template <class Call>
void quietly(Call call) noexcept {
  try {
    call();
  } catch (const Error&) {
  }
}

}  // namespace

EventSet::~EventSet() {
  for (const auto& [gpu, event] : events_)
    quietly([&, made = event] { driver_.destroy_event(made); });
}

EventHandle EventSet::on(PlaceId gpu) {
  const auto found = events_.find(gpu);
  if (found != events_.end()) return found->second;
  return events_[gpu] = driver_.create_event(gpu);
}

HopStream::HopStream(Driver& used_driver, PlaceId executing_gpu)
    : driver(used_driver),
      gpu(executing_gpu),
      stream(used_driver.create_stream(executing_gpu)),
      arrived(used_driver) {}

HopStream::~HopStream() {
  quietly([&] { driver.destroy_stream(stream); });
}

StagingRing::StagingRing(Driver& used_driver, PlaceId staging_place, Bytes slot, int slot_count)
    : driver(used_driver),
      place(staging_place),
      slot_bytes(slot),
      base(used_driver.allocate(staging_place, slot * static_cast<std::uint64_t>(slot_count))),
      last_use(used_driver) {
  for (int i = 0; i < slot_count; ++i) drained.push_back(std::make_unique<EventSet>(used_driver));
}

StagingRing::~StagingRing() {
  // Memory that queued work may still write to is better leaked than given to somebody else.
  if (!lost) quietly([&] { driver.free(base); });
}

Address StagingRing::slot(int index) const {
  return base + slot_bytes * static_cast<std::uint64_t>(index);
}

Hops::Hops(Driver& driver, const Machine& machine, const Settings& settings)
    : driver_(driver),
      machine_(machine),
      slot_bytes_(settings.staging_slot),
      slots_(settings.staging_slots) {}

Hops::~Hops() {
  // What could not be created left a null behind.
  std::erase_if(rings_, [](const auto& entry) { return !entry.second; });
  std::erase_if(streams_, [](const auto& entry) { return !entry.second; });
  for (auto& [hop, ring] : rings_) {
    const auto stream = streams_.find(hop);
    try {
      // The hop's own stream already waits for the ring's last use.
      if (stream != streams_.end()) driver_.synchronize(stream->second->stream);
    } catch (const Error&) {
      ring->lost = true;
    }
  }
  rings_.clear();
  for (auto& [hop, stream] : streams_)
    quietly([&, handle = stream->stream] { driver_.synchronize(handle); });
  streams_.clear();
}

HopStream& Hops::stream(HopId hop) {
  auto& stream = streams_[hop];
  if (!stream) stream = std::make_unique<HopStream>(driver_, machine_.executing_gpu(hop));
  return *stream;
}

StagingRing& Hops::ring(HopId first_hop) {
  auto& ring = rings_[first_hop];
  if (!ring)
    ring = std::make_unique<StagingRing>(driver_, machine_.hop(first_hop).destination, slot_bytes_,
                                         slots_);
  if (ring->lost)
    fail(ErrorCode::driver, "the staging memory of a hop is lost",
         "an earlier driver failure left work that cannot be waited for");
  return *ring;
}

bool Hops::wait_for(StreamHandle stream) noexcept {
  try {
    driver_.synchronize(stream);
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool Hops::settle(const Transfer& transfer) noexcept {
  const bool caller_done = wait_for(transfer.stream);
  bool all_done = caller_done;
  for (const PathShape& part : transfer.plan->shape.paths) {
    if (!part.path.staged()) continue;
    bool done = caller_done;
    for (const HopId hop : {part.path.first, part.path.second}) {
      const auto stream = streams_.find(hop);
      if (stream != streams_.end() && stream->second) done &= wait_for(stream->second->stream);
    }
    const auto ring = rings_.find(part.path.first);
    if (!done && ring != rings_.end() && ring->second) ring->second->lost = true;
    all_done &= done;
  }
  return all_done;
}

}  // namespace polypath
