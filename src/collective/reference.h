#pragma once
// What collectives have to give, worked out on the host in float64: inputs that follow from rank
// and place, and outputs compared with them.
//
// A sum of n values of a floating-point type with rounding unit u differs from the exact one by at
// most (n−1)·u·Σ|xᵢ| + O(u²), whatever its order (Higham, Accuracy and Stability of Numerical
// Algorithms, eq. 4.4); it is compared with n·u·Σ|xᵢ|. A product has a relative error of at most
// (n−1)·u + O(u²) (ibid., lemma 3.1); it is compared with n·u. An average has the error of the sum
// divided by n, and at most u more of its own: it is compared with (n+1)·u·Σ|xᵢ|/n. Everything else
// has to be equal, and so have integers, whose inputs are so small that nothing wraps around on up
// to 8 ranks.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "collective/request.h"

namespace polypath {

/// Element `index` of a rank's input, exact in the type: between -1 and 1 of floating-point types,
/// else a whole number. For products, at least 1/2 in magnitude, and whole numbers 1 or -1 but for
/// rank 0.
double input_value(const CollectiveRequest& request, int rank, std::uint64_t index);

/// Writes all of a rank's input. In place it goes to its part of the rank's memory.
void fill_input(const CollectiveRequest& request, int rank, std::byte* memory);

/// Compares every element of every output with what it should be, and all_reduce's outputs with
/// each other, bit by bit. `outputs` are the ranks' (of reduce, only the root's is looked at).
/// Empty if all is right, else what is wrong first: "rank 2, element 17: 3.5 instead of 4".
std::string first_difference(const CollectiveRequest& request,
                             std::span<const std::byte* const> outputs);

}  // namespace polypath
