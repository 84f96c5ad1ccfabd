#pragma once

#include <vector>

namespace polypath {

/// The mean of both middle values where their number is even; NaN of none.
double median(std::vector<double> values);

}  // namespace polypath
