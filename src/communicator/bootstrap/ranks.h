#pragma once
// Ranks in sentences.

#include <string>
#include <vector>

namespace polypath::communicator {

/// "rank 2", "ranks 0, 3 and 5"; of many the first sixteen: "ranks 0, 1, ... and 40 more".
std::string describe_ranks(const std::vector<int>& ranks);

/// A name that no other run, rank or process has: 128 random bits in hexadecimal.
std::string unique_name();

}  // namespace polypath::communicator
