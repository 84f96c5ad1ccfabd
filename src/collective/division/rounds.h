#pragma once
// Long calls as several, one after another. The program of a call is as long as its message, and
// so is the time that it takes to make it: 20 ms for each GiB, with four ranks on two cores. Calls
// of equal parts of all blocks have one program, which is run with other addresses.
//
//   all_gather of two ranks, two rounds:   input     output
//                                          [a b]     [a b|a' b']
//   round 0: E/2 elements, pitch E         [a]       [a  |a'   ]
//   round 1: the same, E/2 further           [b]     [  b|   b']
//
// The blocks of all_to_all_v have different sizes, and so have their parts: each round has a
// program of its own, made when it comes.

#include <vector>

#include "collective/program/call.h"

namespace polypath::collective {

/// The calls, of at most about `most` message bytes each; together they do what `call` does, whose
/// request is `request`. The call itself if it is not longer, or is a round already.
std::vector<CollectiveCall> rounds_of(const CollectiveCall& call, const CollectiveRequest& request,
                                      Bytes most);

}  // namespace polypath::collective
