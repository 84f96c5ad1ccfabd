#include "probe/fit.h"

#include <algorithm>
#include <cmath>

namespace polypath::probe {
namespace {

// Enough to prefer the smallest solution, too little to be seen in the result.
constexpr double kRidge = 1e-9;

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

// The normal equations of Σ (x_i + x_j - s)² + ridge·Σ x².
std::vector<double> solve_sums(std::size_t count, const std::vector<PairSum>& sums) {
  std::vector<std::vector<double>> matrix(count, std::vector<double>(count, 0));
  std::vector<double> right(count, 0);
  for (std::size_t i = 0; i < count; ++i) matrix[i][i] = kRidge;
  for (const auto& [first, second, sum] : sums) {
    matrix[first][first] += 1;
    matrix[second][second] += 1;
    matrix[first][second] += 1;
    matrix[second][first] += 1;
    right[first] += sum;
    right[second] += sum;
  }
  std::vector<double> values = solve(std::move(matrix), std::move(right));
  for (double& value : values) value = std::max(value, 0.0);
  return values;
}

}  // namespace polypath::probe
