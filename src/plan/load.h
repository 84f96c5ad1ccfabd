#pragma once
// The load of other transfers on each resource, and where it leaves room for staged paths.
//
// Load keeps staged paths out. It moves nothing: the direct path is there for all transfers and
// shared fairly, and the load on it may be over at any moment; bytes moved away from it would then
// be late. (Three streams between the same two GPUs of h200x4 ran at half the native rate when
// plans believed that the direct path had only what others left.)

#include <vector>

#include "model/predict.h"

namespace polypath::plan {

/// The part of each resource's capacity that other transfers take. Empty: none.
using Load = std::vector<Capacity>;

/// Load of each resource in sixteenths of its capacity, rounded up: finer steps would make plans of
/// noise. Empty if there is none.
using LoadSignature = std::vector<int>;

LoadSignature signature_of(const Load& load, const std::vector<Capacity>& capacities);

/// Adds what a transfer takes. While it carries anything a path takes its full rate, however little
/// it carries in all.
void add_rates(const ResourceModel& resources, const TransferShape& transfer, Load& load);

/// The bandwidth of the path's slower hop.
BytesPerSecond path_rate(const Machine& machine, const Path& path);

/// True if a staged path at its full rate would take more of some loaded resource than is left.
bool overloads(const Predictor& predictor, const Path& path, const LoadSignature& load);

}  // namespace polypath::plan
