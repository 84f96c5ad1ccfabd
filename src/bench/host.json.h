#pragma once
// What a measurement ran on, as JSON, docs/json.md.

#include <nlohmann/json_fwd.hpp>

namespace polypath::bench {

/// Of a simulated machine only how many cores simulate it.
nlohmann::ordered_json host_object(bool simulated);

}  // namespace polypath::bench
