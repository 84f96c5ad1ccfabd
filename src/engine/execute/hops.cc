#include "engine/execute/hops.h"

#include <algorithm>

#include "core/error.h"

namespace polypath::engine {

QueueStream::QueueStream(Driver& used_driver, PlaceId owning_gpu)
    : driver(used_driver),
      gpu(owning_gpu),
      stream(used_driver.create_stream(owning_gpu)),
      events(used_driver, owning_gpu),
      end(used_driver) {}

QueueStream::~QueueStream() {
  ignore_errors([&] { driver.destroy_stream(stream); });
}

StagingRing::StagingRing(Driver& used_driver, PlaceId staging_place, const StagingUsers& users,
                         Bytes slot, int slot_count)
    : driver(used_driver),
      place(staging_place),
      slot_bytes(slot),
      base(used_driver.allocate_staging(staging_place, users,
                                        slot * static_cast<std::uint64_t>(slot_count))),
      last_use(used_driver) {}

StagingRing::~StagingRing() {
  // Memory that queued work may still write to is leaked: another owner might receive it otherwise.
  if (!lost) ignore_errors([&] { driver.free(base); });
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
  // Parts that could not be created are null.
  auto& [streams, rings] = parts_;
  std::erase_if(rings, [](const auto& entry) { return !entry.second; });
  std::erase_if(streams, [](const auto& entry) { return !entry.second; });
  const auto wait_for_all = [&] {
    bool done = true;
    for (auto& [queue, stream] : streams) done &= wait_for(stream->stream);
    return done;
  };
  for (auto& [use, ring] : rings) {
    // The hop's own stream already waits for the ring's last use. Where copies go in turn, another
    // one may have filled it.
    const auto stream = streams.find(queue_of(machine_, use.filled_over));
    if (stream != streams.end() ? !wait_for(stream->second->stream) : !wait_for_all())
      ring->lost = true;
  }
  rings.clear();
  (void)wait_for_all();
  streams.clear();
}

RingUse Hops::use_of(HopId filled_over, PlaceId reader) const {
  const PlaceId at = machine_.hop(filled_over).destination;
  const bool pulled = machine_.place(at).kind == PlaceKind::gpu && reader != at;
  return {.filled_over = filled_over, .puller = pulled ? reader : PlaceId{}};
}

RingUse Hops::use_of(const Path& path) const {
  return use_of(path.first, machine_.executing_gpu(path.second));
}

// Of several readers each is the staging place's own GPU.
RingUse Hops::use_of(const Program& program, const Ring& ring) const {
  if (ring.several || ring.reader < 0) return {.filled_over = ring.filled_over};
  const PlaceId reader = program.queues()[static_cast<std::size_t>(ring.reader)].gpu;
  return reader.valid() ? use_of(ring.filled_over, reader)
                        : RingUse{.filled_over = ring.filled_over};
}

std::unique_ptr<StagingRing> Hops::make_ring(const RingUse& use) const {
  const PlaceId at = machine_.hop(use.filled_over).destination;
  const StagingUsers users{.writer = machine_.executing_gpu(use.filled_over),
                           .reader = use.puller.valid() ? use.puller : at};
  return std::make_unique<StagingRing>(driver_, at, users, slot_bytes_, slots_);
}

QueueStream& Hops::stream(const Queue& queue) {
  auto& stream = parts_.streams[queue];
  if (!stream) stream = std::make_unique<QueueStream>(driver_, queue.gpu);
  return *stream;
}

StagingRing& Hops::ring(const RingUse& use) {
  auto& ring = parts_.rings[use];
  if (!ring) ring = make_ring(use);
  if (ring->lost)
    fail(ErrorCode::driver, "the staging memory of a hop is lost",
         "an earlier driver failure left work that cannot be waited for");
  return *ring;
}

HopParts Hops::missing(const Path& path) const {
  const auto lacks = [](const auto& map, const auto& key) {
    const auto found = map.find(key);
    return found == map.end() || !found->second;
  };
  HopParts parts;
  if (!path.staged()) return parts;
  for (const HopId hop : {path.first, path.second})
    if (const Queue queue = queue_of(machine_, hop); lacks(parts_.streams, queue))
      parts.streams[queue] = nullptr;
  if (const RingUse use = use_of(path); lacks(parts_.rings, use)) parts.rings[use] = nullptr;
  return parts;
}

// The memory first: it is what may be lacking.
void Hops::make(HopParts& parts) const {
  for (auto& [use, ring] : parts.rings) ring = make_ring(use);
  for (auto& [queue, stream] : parts.streams)
    stream = std::make_unique<QueueStream>(driver_, queue.gpu);
}

void Hops::install(HopParts parts) {
  const auto take = [](auto& from, auto& to) {
    for (auto& [key, made] : from)
      if (!to[key]) to[key] = std::move(made);
  };
  take(parts.streams, parts_.streams);
  take(parts.rings, parts_.rings);
}

bool Hops::is_idle() const {
  const auto is_used = [this](const auto& entry) {
    const auto& ring = entry.second;
    if (!ring || ring->last.value == 0) return false;
    bool done = false;
    return ring->lost || !ignore_errors([&] { done = driver_.is_done(ring->last); }) || !done;
  };
  return std::none_of(parts_.rings.begin(), parts_.rings.end(), is_used);
}

void Hops::lose_rings() noexcept {
  for (auto& [use, ring] : parts_.rings)
    if (ring) ring->lost = true;
}

bool Hops::wait_for(StreamHandle stream) noexcept {
  return ignore_errors([&] { driver_.synchronize(stream); });
}

bool Hops::wait_for(const Program& program, int queue) noexcept {
  if (queue <= Program::kCallersQueue) return true;
  const auto found = parts_.streams.find(program.queues()[static_cast<std::size_t>(queue)]);
  return found == parts_.streams.end() || !found->second || wait_for(found->second->stream);
}

bool Hops::settle(const Transfer& transfer) noexcept {
  const Program& program = *transfer.program;
  const bool caller_done = wait_for(transfer.stream);
  std::vector<bool> done;
  for (int queue = 0; queue < static_cast<int>(program.queues().size()); ++queue)
    done.push_back(wait_for(program, queue) && caller_done);
  const auto is_done = [&](int queue) {
    return queue < 0 || done[static_cast<std::size_t>(queue)];
  };
  const bool all_done = std::find(done.begin(), done.end(), false) == done.end();
  for (const Ring& used : program.rings()) {
    const bool idle = used.several ? all_done : is_done(used.filler) && is_done(used.reader);
    const auto ring = parts_.rings.find(use_of(program, used));
    if (!idle && ring != parts_.rings.end() && ring->second) ring->second->lost = true;
  }
  return all_done;
}

}  // namespace polypath::engine
