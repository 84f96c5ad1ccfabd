#pragma once
// The two fits that calibration makes.
//
// A line y = a + b·x through points, each as important as any other in relative terms: weighted
// least squares with weights 1/y², that is min Σ ((a + b·x_i - y_i) / y_i)². With w = 1/y²,
//   b = (Σw·Σwxy - Σwx·Σwy) / (Σw·Σwxx - (Σwx)²),  a = (Σwy - b·Σwx) / Σw.
// A negative a, which no cost has, becomes 0, and then b = Σwxy / Σwxx.
//
// Values of which only sums of two were measured, x_i + x_j = s with an error e, none below 0: the
// least of Σ ((x_i + x_j - s) / e)². Where the sums do not settle the values (two values, one sum)
// those that are of a kind are taken to be alike, and the others to be small.

#include <vector>

namespace polypath::probe {

struct Point {
  double x = 0;
  double y = 0;
};

struct Line {
  double intercept = 0;
  double slope = 0;

  [[nodiscard]] double at(double x) const { return intercept + slope * x; }
  /// |at(x) - y| / y.
  [[nodiscard]] double residual(Point point) const;
};

/// At least two points with different x, all y above 0.
Line fit_line(const std::vector<Point>& points);

/// The largest residual of these points.
double largest_residual(const Line& line, const std::vector<Point>& points);

/// The sum of values `first` and `second`.
struct PairSum {
  std::size_t first = 0;
  std::size_t second = 0;
  double sum = 0;
  double error = 1;  ///< in the sum's unit, above 0; only how they compare matters
};

/// `count` values from their sums, the first `alike` of them of a kind; 0 for one that is in no
/// sum. No value is below 0.
std::vector<double> solve_sums(std::size_t count, const std::vector<PairSum>& sums,
                               std::size_t alike = 0);

}  // namespace polypath::probe
