#include "model/traffic.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace polypath::model {

void KernelTraffic::add(PlaceId place, Bytes bytes, bool writes) {
  if (place == gpu_ || bytes.value == 0) return;
  const auto hop = writes ? machine_.find_hop(gpu_, place) : machine_.find_hop(place, gpu_);
  if (!hop || !is_by_gpu(machine_.hop(*hop).kind))
    fail(ErrorCode::invalid_argument,
         fmt::format("a kernel of {} cannot use memory of {}", machine_.place(gpu_).name,
                     machine_.place(place).name),
         "it cannot reach that", "Copy it there first.");
  const double weighed = bytes.real() / machine_.driver.kernel_efficiency;
  const auto same = std::find_if(flows_.begin(), flows_.end(),
                                 [&](const Traffic& flow) { return flow.hop == *hop; });
  if (same != flows_.end()) same->bytes += weighed;
  else flows_.push_back({*hop, weighed});
}

}  // namespace polypath::model
