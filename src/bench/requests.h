#pragma once
// What a JSON request asks for; docs/json.md describes the fields. Errors: invalid_argument points
// at the field; and those of choosing the machine.

#include <string>

#include "bench/measure.h"
#include "bench/tune.h"
#include "context/open.h"

namespace polypath::bench {

/// Of a plan or a trace.
struct PlanRequest {
  Machine machine;
  Lane lane;
  Bytes bytes;
  PlanOptions options;
  Settings settings;
};

PlanRequest read_plan_request(const std::string& json);
Request read_bench_request(const std::string& json);
TuneRequest read_tune_request(const std::string& json);

}  // namespace polypath::bench
