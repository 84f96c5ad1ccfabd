#pragma once
// Minimise one variable T over b >= 0, T >= 0:
//
//   min T   subject to   Σ_i a_ri·b_i − T <= c_r   for every row r,   and   Σ_i b_i <= n.
//
// Every row lets T grow, so one pivot of T into the row with the most negative c_r gives a feasible
// start (b = 0, T = max(0, −c_r)); the dense primal simplex with Bland's rule, which cannot cycle,
// goes on from there. Planning has at most about ten variables, so nothing cleverer pays.

#include <vector>

namespace polypath {

/// One row: Σ coefficients[i]·b[i] − T <= constant.
struct DeadlineRow {
  std::vector<double> coefficients;
  double constant = 0;
};

struct DeadlineSolution {
  double time = 0;              ///< T at the optimum
  std::vector<double> amounts;  ///< b at the optimum
};

/// Solves the program above for `variables` amounts that add up to at most `total`.
DeadlineSolution minimise_deadline(std::size_t variables, const std::vector<DeadlineRow>& rows,
                                   double total);

}  // namespace polypath
