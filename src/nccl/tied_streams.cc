#include "nccl/tied_streams.h"

#include <set>

namespace polypath::nccl {

StreamHandle TiedStreams::tie(std::span<const StreamHandle> streams) {
  const StreamHandle first = streams.front();
  std::set<StreamHandle> others(streams.begin(), streams.end());
  others.erase(first);
  if (others.empty()) return first;
  for (const StreamHandle stream : others) {
    driver_.record(joined_.on(gpu_), stream);
    driver_.wait(first, joined_.on(gpu_));
  }
  driver_.record(joined_.on(gpu_), first);
  for (const StreamHandle stream : others) driver_.wait(stream, joined_.on(gpu_));
  return first;
}

}  // namespace polypath::nccl
