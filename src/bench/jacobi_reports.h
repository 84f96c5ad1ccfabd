#pragma once
// A Jacobi solver's measurements as JSON; docs/json.md describes the schema. Errors as of
// reports.h.

#include <string>

#include "bench/jacobi.h"

namespace polypath::bench {

/// polypath.bench/1 for a request {machine, gpus, sizes, rows, iterations, executors, paths,
/// kernel_efficiency, verify, values}; only sizes are required.
std::string jacobi_bench_report(const std::string& request, const Progress& progress);

}  // namespace polypath::bench
