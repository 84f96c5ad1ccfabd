#pragma once
// The expected results of collectives, computed on the host in float64: inputs that follow from
// rank and place, and outputs compared with them, bit by bit.
//
// No step is rounded, so that one wrong bit is seen in any order of the ranks. Sums of n
// values of a type with p bits are of whole numbers up to 2^p/n, all divided by one power of 2.
// Products are of one such number and of 1, 2 and 1/2 with either sign. An average is such a sum,
// divided and rounded once. Sums of integers wrap around.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "collective/program/request.h"

namespace polypath::collective {

/// Element `index` of a rank's input, exact in the type: between -2 and 2 of floating-point types,
/// else a whole number; never -0. For products not 0, and of ranks but 0 as above, whole ones 1 or
/// -1.
double input_value(const CollectiveRequest& request, int rank, std::uint64_t index);

/// Writes all of a rank's input. In place it goes to its part of the rank's memory.
void fill_input(const CollectiveRequest& request, int rank, std::byte* memory);

/// Compares every bit of every output with what it should be. `outputs` are the ranks' (of reduce,
/// only the root's is looked at). Empty if all is right, else what is wrong first: "rank 2, element
/// 17: 3.5 instead of 4".
std::string first_difference(const CollectiveRequest& request,
                             std::span<const std::byte* const> outputs);

}  // namespace polypath::collective
