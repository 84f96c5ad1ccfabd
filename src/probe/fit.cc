#include "probe/fit.h"

#include <algorithm>
#include <cmath>

namespace polypath::probe {
namespace {

// Enough to prefer one of several solutions, too little to be seen in the result.
constexpr double kAlike = 1e-5;
constexpr double kSmall = 1e-9;

// Gaussian elimination with pivoting; the matrix is positive definite.
std::vector<double> solve(std::vector<std::vector<double>> matrix, std::vector<double> right) {
  const std::size_t count = right.size();
  for (std::size_t column = 0; column < count; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < count; ++row)
      if (std::abs(matrix[row][column]) > std::abs(matrix[pivot][column])) pivot = row;
    std::swap(matrix[column], matrix[pivot]);
    std::swap(right[column], right[pivot]);
    for (std::size_t row = 0; row < count; ++row) {
      if (row == column) continue;
      const double factor = matrix[row][column] / matrix[column][column];
      for (std::size_t i = column; i < count; ++i) matrix[row][i] -= factor * matrix[column][i];
      right[row] -= factor * right[column];
    }
  }
  for (std::size_t i = 0; i < count; ++i) right[i] /= matrix[i][i];
  return right;
}

// The normal equations of Σ w·(x_i + x_j - s)² + kAlike·Σ (x_i - m)² + kSmall·Σ x_i², where m is
// the mean of the values that are of a kind.
class SumEquations {
 public:
  SumEquations(std::size_t count, const std::vector<PairSum>& sums, std::size_t alike)
      : matrix_(count, std::vector<double>(count, 0)), right_(count, 0) {
    double least = 0;
    for (const PairSum& each : sums) least = least == 0 ? each.error : std::min(least, each.error);
    for (const PairSum& each : sums) add(each, std::pow(least / each.error, 2));
    prefer_alike(alike);
    for (std::size_t i = 0; i < count; ++i) matrix_[i][i] += kSmall;
  }

  // The value is 0 from now on.
  void hold(std::size_t index) {
    for (std::size_t i = 0; i < right_.size(); ++i) matrix_[i][index] = matrix_[index][i] = 0;
    matrix_[index][index] = 1;
    right_[index] = 0;
  }

  [[nodiscard]] std::vector<double> solution() const { return solve(matrix_, right_); }

 private:
  void add(const PairSum& each, double weight) {
    for (const std::size_t i : {each.first, each.second}) {
      right_[i] += weight * each.sum;
      for (const std::size_t j : {each.first, each.second}) matrix_[i][j] += weight;
    }
  }

  void prefer_alike(std::size_t alike) {
    std::vector<std::size_t> seen;
    for (std::size_t i = 0; i < alike; ++i)
      if (matrix_[i][i] > 0) seen.push_back(i);
    const double part = 1 / static_cast<double>(std::max<std::size_t>(seen.size(), 1));
    for (const std::size_t i : seen)
      for (const std::size_t j : seen) matrix_[i][j] += kAlike * ((i == j ? 1 : 0) - part);
  }

  std::vector<std::vector<double>> matrix_;
  std::vector<double> right_;
};

}  // namespace

double Line::residual(Point point) const { return std::abs(at(point.x) - point.y) / point.y; }

Line fit_line(const std::vector<Point>& points) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (const auto& [x, y] : points) {
    const double weight = 1 / (y * y);
    w += weight;
    wx += weight * x;
    wy += weight * y;
    wxx += weight * x * x;
    wxy += weight * x * y;
  }
  const double slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  const double intercept = (wy - slope * wx) / w;
  if (intercept >= 0) return {intercept, slope};
  return {0, wxy / wxx};
}

double largest_residual(const Line& line, const std::vector<Point>& points) {
  double largest = 0;
  for (const Point& point : points) largest = std::max(largest, line.residual(point));
  return largest;
}

// The most negative value is held at 0 until none is left.
std::vector<double> solve_sums(std::size_t count, const std::vector<PairSum>& sums,
                               std::size_t alike) {
  SumEquations equations(count, sums, alike);
  std::vector<double> values = equations.solution();
  for (std::size_t held = 0; held < count; ++held) {
    const auto least = std::min_element(values.begin(), values.end());
    if (!(*least < 0)) break;
    equations.hold(static_cast<std::size_t>(least - values.begin()));
    values = equations.solution();
  }
  for (double& value : values) value = std::max(value, 0.0);
  return values;
}

}  // namespace polypath::probe
