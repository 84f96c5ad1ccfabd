#pragma once
// The difference between predicted times that counts.

namespace polypath::model {

/// Predicted times that differ by less than this part are as good as each other. No series of
/// copies can tell them apart: in three of four series of native copies of 16 MiB and more the
/// quartiles lie further from the median (160 series in results/h*), and predictions are off by 2.6
/// % in the median.
inline constexpr double kAlike = 0.002;

}  // namespace polypath::model
