#pragma once
// The runs of a measurement as JSON, docs/json.md. Apart from repetitions.h, so that only what
// writes JSON includes the library for it.

#include <nlohmann/json_fwd.hpp>

#include "bench/repetitions.h"

namespace polypath::bench {

/// Adds `samples` and `spread` to a result; nothing where there are no repetitions.
void add_repetitions(nlohmann::ordered_json& result, const Repetitions& repetitions);

}  // namespace polypath::bench
