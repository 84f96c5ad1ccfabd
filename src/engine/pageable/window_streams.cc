#include "engine/pageable/window_streams.h"

#include "core/ignore_errors.h"

namespace polypath::engine {

WindowStreams::~WindowStreams() {
  for (const auto& [gpu, stream] : streams_)
    ignore_errors([&, handle = stream] { driver_.destroy_stream(handle); });
}

std::optional<StreamHandle> WindowStreams::on(PlaceId gpu) {
  const std::scoped_lock lock(mutex_);
  const auto found = streams_.find(gpu);
  if (found != streams_.end()) return found->second;
  if (!driver_.is_open(gpu)) return std::nullopt;
  return streams_[gpu] = driver_.create_stream(gpu);
}

bool WindowStreams::wait_for_all() noexcept {
  bool waited = true;
  for (const auto& [gpu, stream] : streams_)
    waited &= ignore_errors([&, handle = stream] { driver_.synchronize(handle); });
  return waited;
}

}  // namespace polypath::engine
