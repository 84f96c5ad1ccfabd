#include "mpi/call_streams.h"

#include "core/ignore_errors.h"

namespace polypath::mpi {

StreamHandle CallStreams::of(Driver& driver, PlaceId gpu, int number) {
  const auto found = made_.find(number);
  if (found != made_.end()) return found->second.handle;
  return made_.emplace(number, Stream{&driver, driver.create_stream(gpu)}).first->second.handle;
}

void CallStreams::clear() noexcept {
  for (const auto& [number, stream] : made_)
    ignore_errors([&] { stream.driver->destroy_stream(stream.handle); });
  made_.clear();
}

}  // namespace polypath::mpi
