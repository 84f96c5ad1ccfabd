#include "probe/workbench.h"

#include "core/ignore_errors.h"

namespace polypath::probe {

Workbench::~Workbench() {
  bool idle = true;
  for (const auto& entry : streams_) {
    const auto wait = [&] { driver_.synchronize(entry.second); };
    if (!ignore_errors(wait) && !ignore_errors(wait)) idle = false;
  }
  for (const auto& entry : events_) ignore_errors([&] { driver_.destroy_event(entry.second); });
  for (const auto& entry : streams_) ignore_errors([&] { driver_.destroy_stream(entry.second); });
  if (!idle) return;
  for (const auto& entry : blocks_) ignore_errors([&] { driver_.free(entry.second.address); });
}

Address Workbench::memory(PlaceId place, int slot, Bytes bytes) {
  const Key key{place, slot};
  const auto found = blocks_.find(key);
  if (found != blocks_.end() && found->second.bytes >= bytes) return found->second.address;
  if (found != blocks_.end()) {
    const Address old = found->second.address;
    blocks_.erase(found);
    driver_.free(old);
  }
  const Address address = driver_.allocate(place, bytes);
  blocks_[key] = {address, bytes};
  return address;
}

CopyRequest Workbench::copy_over(HopId id, Bytes bytes, int source_slot, int destination_slot) {
  const Hop& hop = machine_.hop(id);
  return {memory(hop.destination, destination_slot, bytes),
          hop.destination,
          memory(hop.source, source_slot, bytes),
          hop.source,
          bytes,
          {}};
}

StreamHandle Workbench::stream(PlaceId gpu, int index) {
  const Key key{gpu, index};
  const auto found = streams_.find(key);
  if (found != streams_.end()) return found->second;
  return streams_[key] = driver_.create_stream(gpu);
}

EventHandle Workbench::event(PlaceId gpu, int index) {
  const Key key{gpu, index};
  const auto found = events_.find(key);
  if (found != events_.end()) return found->second;
  return events_[key] = driver_.create_event(gpu);
}

void Workbench::settle() {
  for (const auto& [key, stream] : streams_) driver_.synchronize(stream);
}

Graph::~Graph() {
  ignore_errors([&] { driver_.destroy_graph(handle_); });
}

}  // namespace polypath::probe
