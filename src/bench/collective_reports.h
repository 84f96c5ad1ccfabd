#pragma once
// Collectives as JSON; docs/json.md describes the schemas. Errors as of reports.h.

#include <string>

#include "bench/collectives.h"

namespace polypath::bench {

/// polypath.bench/1 for a request {machine, collective, ranks, sizes, algorithms, type, reduction,
/// root, in_place, counts, executor, paths, any_order, verify}; only collective and sizes are
/// required.
std::string collective_bench_report(const std::string& request, const Progress& progress);
/// polypath.collective_plan/1 for the same request, of one size.
std::string collective_plan_report(const std::string& request);

}  // namespace polypath::bench
