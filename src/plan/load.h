#pragma once
// What other transfers in flight take, and where they leave room for staged paths.
//
// Load keeps staged paths out, and asks of what is left to gain more than the call takes, because
// the thread that issues it makes others wait. It moves nothing: the direct path is there for
// everybody and shared fairly, and the load on it may be over at any moment; bytes moved away from
// it would then be late. (Three streams between the same two GPUs of h200x4 ran at half the native rate when
// plans believed that the direct path had only what others left.)

#include <vector>

#include "model/predict.h"

namespace polypath {

/// Rates that other transfers in flight take of each resource, in the units of
/// ResourceModel::capacities. Empty: none.
using Load = std::vector<BytesPerSecond>;

/// Load of each resource in sixteenths of its capacity, rounded up: finer steps would make plans of
/// noise. Empty if there is none.
using LoadSignature = std::vector<int>;

LoadSignature signature_of(const Load& load, const std::vector<BytesPerSecond>& capacities);

/// The bandwidth of the path's slower hop.
BytesPerSecond path_rate(const Machine& machine, const Path& path);

/// True if a staged path at its full rate would take more of some loaded resource than is left: it
/// would slow down a transfer in flight.
bool overloads(const Predictor& predictor, const Path& path, const LoadSignature& load);

}  // namespace polypath
