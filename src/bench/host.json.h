#pragma once
// The host and devices of a measurement, as JSON, docs/json.md.

#include <nlohmann/json_fwd.hpp>

namespace polypath::bench {

/// Of a simulated machine only how many cores simulate it.
nlohmann::ordered_json host_object(bool simulated);

}  // namespace polypath::bench
