#pragma once
// JSON in, JSON out: the reports of the command line. docs/json.md describes the schemas. Every
// function throws Error for a request that cannot be used, and points at the field.

#include <string>

#include "bench/measure.h"

namespace polypath::bench {

/// polypath.plan/1 for a request {machine, source, destination, bytes, executor, paths, shares,
/// chunks}; only the first four are required. `timeline` lists the copies as simulated.
std::string plan_report(const std::string& request);
/// polypath.joint_plan/1 for a request {machine, transfers, executor, issuers}, each transfer a
/// {source, destination, bytes}; or {machine, pattern, bytes, gpus, executor, issuers}.
std::string joint_plan_report(const std::string& request);
/// polypath.bench/1 for a request {machine, operation, source, destination, sizes, window,
/// pieces, executor, paths, shares, chunks, verify}.
std::string bench_report(const std::string& request, const Progress& progress);
/// polypath.issue/1 for a request as for bench: the time in the call, on this computer's GPUs.
std::string issue_report(const std::string& request);
/// polypath.tuned/1 for a request {machine, pairs, sizes, executors}.
std::string tune_report(const std::string& request, const Progress& progress);
/// The timeline of one transfer, in the trace event format that Perfetto opens; request as for
/// plan.
std::string trace_report(const std::string& request);

}  // namespace polypath::bench
