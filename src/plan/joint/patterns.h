#pragma once
// Sets of transfers that programs make at once, by name.
//
//   ring      gpu0 -> gpu1 -> gpu2 -> ... -> gpu0
//   pairs     gpu0 <-> gpu1, gpu2 <-> gpu3, ...
//   fan-out   gpu0 to every other GPU
//   gather    every other GPU to gpu0
//   alltoall  every GPU to every other one, nearest first: round r goes r GPUs on
//   scatter, collect: from and to the host nearest to each GPU

#include <string>
#include <string_view>
#include <vector>

#include "plan/joint/joint_draft.h"

namespace polypath::plan {

/// Names of the patterns, in the order above.
std::vector<std::string> pattern_names();

/// The transfers of a pattern over the machine's GPUs, or over its first `gpus` (0: all), of
/// `bytes` each. Errors (invalid_argument): an unknown pattern lists those there are; too few GPUs,
/// or more than there are; no host.
std::vector<JointTransfer> pattern_of(const Machine& machine, std::string_view name, Bytes bytes,
                                      std::size_t gpus = 0);

}  // namespace polypath::plan
