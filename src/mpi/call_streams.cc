#include "mpi/call_streams.h"

#include "core/ignore_errors.h"

namespace polypath::mpi {

StreamHandle CallStreams::of(Driver& driver, PlaceId gpu) {
  const auto found = made_.find(gpu);
  if (found != made_.end()) return found->second.handle;
  return made_.emplace(gpu, Stream{&driver, driver.create_stream(gpu)}).first->second.handle;
}

void CallStreams::clear() noexcept {
  for (const auto& [gpu, stream] : made_)
    ignore_errors([&] { stream.driver->destroy_stream(stream.handle); });
  made_.clear();
}

}  // namespace polypath::mpi
