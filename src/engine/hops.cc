#include "engine/hops.h"

#include <algorithm>

#include "core/error.h"

namespace polypath {
HopStream::HopStream(Driver& used_driver, PlaceId executing_gpu)
    : driver(used_driver),
      gpu(executing_gpu),
      stream(used_driver.create_stream(executing_gpu)),
      arrived(used_driver) {}

HopStream::~HopStream() {
  quietly([&] { driver.destroy_stream(stream); });
}

StagingRing::StagingRing(Driver& used_driver, PlaceId staging_place, PlaceId source, Bytes slot,
                         int slot_count)
    : driver(used_driver),
      place(staging_place),
      slot_bytes(slot),
      base(used_driver.allocate_staging(staging_place, source,
                                        slot * static_cast<std::uint64_t>(slot_count))),
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
  auto& [streams, rings] = parts_;
  std::erase_if(rings, [](const auto& entry) { return !entry.second; });
  std::erase_if(streams, [](const auto& entry) { return !entry.second; });
  for (auto& [hop, ring] : rings) {
    const auto stream = streams.find(hop);
    // The hop's own stream already waits for the ring's last use.
    if (stream != streams.end() && !wait_for(stream->second->stream)) ring->lost = true;
  }
  rings.clear();
  for (auto& [hop, stream] : streams) (void)wait_for(stream->stream);
  streams.clear();
}

std::unique_ptr<HopStream> Hops::make_stream(HopId hop) const {
  return std::make_unique<HopStream>(driver_, machine_.executing_gpu(hop));
}

std::unique_ptr<StagingRing> Hops::make_ring(HopId first_hop) const {
  const Hop& hop = machine_.hop(first_hop);
  return std::make_unique<StagingRing>(driver_, hop.destination, hop.source, slot_bytes_, slots_);
}

HopStream& Hops::stream(HopId hop) {
  auto& stream = parts_.streams[hop];
  if (!stream) stream = make_stream(hop);
  return *stream;
}

StagingRing& Hops::ring(HopId first_hop) {
  auto& ring = parts_.rings[first_hop];
  if (!ring) ring = make_ring(first_hop);
  if (ring->lost)
    fail(ErrorCode::driver, "the staging memory of a hop is lost",
         "an earlier driver failure left work that cannot be waited for");
  return *ring;
}

HopParts Hops::missing(const Path& path) const {
  const auto lacks = [](const auto& map, HopId hop) {
    const auto found = map.find(hop);
    return found == map.end() || !found->second;
  };
  HopParts parts;
  if (!path.staged()) return parts;
  for (const HopId hop : {path.first, path.second})
    if (lacks(parts_.streams, hop)) parts.streams[hop] = nullptr;
  if (lacks(parts_.rings, path.first)) parts.rings[path.first] = nullptr;
  return parts;
}

// The memory first: it is what may be lacking.
void Hops::make(HopParts& parts) const {
  for (auto& [hop, ring] : parts.rings) ring = make_ring(hop);
  for (auto& [hop, stream] : parts.streams) stream = make_stream(hop);
}

void Hops::install(HopParts parts) {
  const auto take = [](auto& from, auto& to) {
    for (auto& [hop, made] : from)
      if (!to[hop]) to[hop] = std::move(made);
  };
  take(parts.streams, parts_.streams);
  take(parts.rings, parts_.rings);
}

bool Hops::is_idle() const {
  const auto is_used = [this](const auto& entry) {
    const auto& ring = entry.second;
    if (!ring || ring->last.value == 0) return false;
    bool done = false;
    return ring->lost || !quietly([&] { done = driver_.is_done(ring->last); }) || !done;
  };
  return std::none_of(parts_.rings.begin(), parts_.rings.end(), is_used);
}

bool Hops::wait_for(StreamHandle stream) noexcept {
  return quietly([&] { driver_.synchronize(stream); });
}

bool Hops::settle(const Transfer& transfer) noexcept {
  const bool caller_done = wait_for(transfer.stream);
  bool all_done = caller_done;
  for (const PathShape& part : transfer.plan->shape.paths) {
    if (!part.path.staged()) continue;
    bool done = caller_done;
    for (const HopId hop : {part.path.first, part.path.second}) {
      const auto stream = parts_.streams.find(hop);
      if (stream != parts_.streams.end() && stream->second)
        done &= wait_for(stream->second->stream);
    }
    const auto ring = parts_.rings.find(part.path.first);
    if (!done && ring != parts_.rings.end() && ring->second) ring->second->lost = true;
    all_done &= done;
  }
  return all_done;
}

}  // namespace polypath
