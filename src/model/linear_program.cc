#include "model/linear_program.h"

#include <cmath>
#include <cstddef>
#include <optional>

namespace polypath::model {
namespace {

constexpr double kTolerance = 1e-11;

// Dictionary form: each row states basic = constant − Σ coefficient·nonbasic; the objective row
// states T likewise. Columns: one per nonbasic variable. Variables 0..n-1 are b, n is T, n+1.. are
// the slacks.
class Dictionary {
 public:
  Dictionary(std::size_t variables, const std::vector<DeadlineRow>& rows,
             const std::vector<AmountLimit>& limits)
      : time_(variables), columns_(variables + 1) {
    for (std::size_t c = 0; c < columns_.size(); ++c) columns_[c] = c;
    for (const DeadlineRow& row : rows) {
      std::vector<double> cells;
      cells.reserve(columns_.size());
      cells.assign(row.coefficients.begin(), row.coefficients.end());
      cells.push_back(-1);
      add(std::move(cells), row.constant);
    }
    for (const AmountLimit& limit : limits) {
      std::vector<double> cells(columns_.size(), 0.0);
      for (std::size_t i = 0; i < limit.count; ++i) cells[limit.first + i] = 1;
      add(std::move(cells), limit.most);
    }
    objective_.assign(columns_.size(), 0.0);
    objective_[variables] = 1;
  }

  void solve() {
    const std::size_t worst = most_negative_row();
    if (constants_[worst] < 0) pivot(worst, time_);
    improve();
  }

  // Goes on from the optimum with another objective, and T bounded.
  void then_minimise(const SecondObjective& second) {
    const auto row_of_time = find_row(time_);
    if (!row_of_time) return;  // T is 0: nothing can be bought with it
    const double time = constants_[*row_of_time];
    std::vector<double> cells = cells_[*row_of_time];
    for (double& cell : cells) cell = -cell;
    add(std::move(cells), time * second.slack);
    set_objective(second.weights);
    improve();
  }

  [[nodiscard]] double value_of(std::size_t variable) const {
    const auto row = find_row(variable);
    return row ? constants_[*row] : 0;
  }

 private:
  // Where the variable is basic.
  [[nodiscard]] std::optional<std::size_t> find_row(std::size_t variable) const {
    for (std::size_t r = 0; r < basis_.size(); ++r)
      if (basis_[r] == variable) return r;
    return std::nullopt;
  }

  void improve() {
    for (int step = 0; step < 10000; ++step) {
      const std::size_t column = entering();
      if (column == columns_.size()) return;
      const std::size_t row = leaving(column);
      if (row == cells_.size()) return;
      pivot(row, column);
    }
  }

  // Σ weights[i]·b_i in terms of the variables that are not basic.
  void set_objective(const std::vector<double>& weights) {
    objective_.assign(columns_.size(), 0.0);
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (columns_[c] < weights.size()) objective_[c] += weights[columns_[c]];
    for (std::size_t r = 0; r < basis_.size(); ++r)
      if (basis_[r] < weights.size())
        for (std::size_t c = 0; c < columns_.size(); ++c)
          objective_[c] -= weights[basis_[r]] * cells_[r][c];
  }

  void add(std::vector<double> cells, double constant) {
    basis_.push_back(columns_.size() + cells_.size());
    cells_.push_back(std::move(cells));
    constants_.push_back(constant);
  }

  [[nodiscard]] std::size_t most_negative_row() const {
    std::size_t worst = 0;
    for (std::size_t r = 1; r < constants_.size(); ++r)
      if (constants_[r] < constants_[worst]) worst = r;
    return worst;
  }

  // Bland: of the columns that lower the objective when raised, the one with the lowest variable.
  [[nodiscard]] std::size_t entering() const {
    std::size_t best = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (objective_[c] < -kTolerance && (best == columns_.size() || columns_[c] < columns_[best]))
        best = c;
    return best;
  }

  // The row that reaches zero first; Bland again among equals.
  [[nodiscard]] std::size_t leaving(std::size_t column) const {
    std::size_t best = cells_.size();
    double best_ratio = 0;
    for (std::size_t r = 0; r < cells_.size(); ++r) {
      if (cells_[r][column] <= kTolerance) continue;
      const double ratio = constants_[r] / cells_[r][column];
      const bool better = best == cells_.size() || ratio < best_ratio - kTolerance ||
                          (ratio <= best_ratio + kTolerance && basis_[r] < basis_[best]);
      if (better) best = r, best_ratio = ratio;
    }
    return best;
  }

  void pivot(std::size_t row, std::size_t column) {
    const double scale = cells_[row][column];
    for (double& cell : cells_[row]) cell /= scale;
    constants_[row] /= scale;
    cells_[row][column] = 1 / scale;
    used_.clear();  // most cells are 0
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (c != column && cells_[row][c] != 0) used_.push_back(c);
    for (std::size_t r = 0; r < cells_.size(); ++r)
      if (r != row) constants_[r] -= eliminate(cells_[r], row, column);
    eliminate(objective_, row, column);
    std::swap(basis_[row], columns_[column]);
  }

  // Replaces the entering variable in `cells`; returns what the row's constant changes by.
  double eliminate(std::vector<double>& cells, std::size_t row, std::size_t column) const {
    const double factor = cells[column];
    if (factor == 0) return 0;
    const std::vector<double>& of_row = cells_[row];
    for (const std::size_t c : used_) cells[c] -= factor * of_row[c];
    cells[column] = -factor * of_row[column];
    return factor * constants_[row];
  }

  std::size_t time_;
  std::vector<std::size_t> columns_;
  std::vector<std::size_t> basis_;
  std::vector<std::vector<double>> cells_;
  std::vector<double> constants_;
  std::vector<double> objective_;
  std::vector<std::size_t> used_;  // of the row that is pivoted on, the other columns
};

}  // namespace

DeadlineSolution minimise_deadline(std::size_t variables, const std::vector<DeadlineRow>& rows,
                                   double total) {
  return minimise_deadline(variables, rows, {{.first = 0, .count = variables, .most = total}});
}

DeadlineSolution minimise_deadline(std::size_t variables, const std::vector<DeadlineRow>& rows,
                                   const std::vector<AmountLimit>& limits,
                                   const SecondObjective& second) {
  Dictionary dictionary(variables, rows, limits);
  dictionary.solve();
  if (!second.weights.empty()) dictionary.then_minimise(second);
  DeadlineSolution solution;
  solution.time = dictionary.value_of(variables);
  for (std::size_t i = 0; i < variables; ++i) solution.amounts.push_back(dictionary.value_of(i));
  return solution;
}

}  // namespace polypath::model
