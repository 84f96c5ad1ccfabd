#include "api/preload/nccl_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/preload/nccl_layer.h"
#include "core/json_text.json.h"
#include "core/text.h"

namespace polypath::preload {

std::string nccl_lines(int process) {
  const nccl::Layer* const layer = nccl_layer_if_any();
  std::string lines;
  if (layer == nullptr) return lines;
  for (const nccl::CountedCalls& each : layer->counts().all())
    lines += fmt::format("polypath: process {}: {} from {} on: {} calls, {}, by {}\n", process,
                         name_of(each.operation), describe_bytes(each.least), each.calls,
                         describe_bytes(each.bytes), text_of(each.fate));
  if (const std::string why = layer->why_not(); !why.empty())
    lines +=
        fmt::format("polypath: process {}: a communicator is left to NCCL: {}\n", process, why);
  return lines;
}

std::string nccl_report() {
  const nccl::Layer* const layer = nccl_layer_if_any();
  if (layer == nullptr) return "null";
  nlohmann::ordered_json calls = nlohmann::ordered_json::array();
  for (const nccl::CountedCalls& each : layer->counts().all())
    calls.push_back({{"operation", name_of(each.operation)},
                     {"least_bytes", each.least.value},
                     {"by", text_of(each.fate)},
                     {"accelerated", each.fate == nccl::Fate::ours},
                     {"calls", each.calls},
                     {"bytes", each.bytes.value}});
  return json_text({{"why_not", layer->why_not()}, {"calls", calls}});
}

}  // namespace polypath::preload
