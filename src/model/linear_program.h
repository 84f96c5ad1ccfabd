#pragma once
// Minimise one variable T over b >= 0, T >= 0, the b being in groups g that have n_g each:
//
//   min T   subject to   Σ_i a_ri·b_i − T <= c_r   for every row r,   and   Σ_{i in g} b_i <= n_g.
//
// Every row lets T grow, so one pivot of T into the row with the most negative c_r gives a feasible
// start (b = 0, T = max(0, −c_r)); the dense primal simplex with Bland's rule, which cannot cycle,
// goes on from there. One transfer has at most about ten variables, several have some dozens, so
// nothing cleverer pays.
//
// Many b may have the least T*. Of all that have T <= T*·(1 + s) the second objective takes one
// with the least Σ w_i·b_i: the row T <= T*·(1 + s) joins the optimal dictionary, in which it
// holds, and the simplex goes on.

#include <cstddef>
#include <vector>

namespace polypath::model {

/// One row: Σ coefficients[i]·b[i] − T <= constant.
struct DeadlineRow {
  std::vector<double> coefficients;
  double constant = 0;
};

struct DeadlineSolution {
  double time = 0;              ///< T at the optimum
  std::vector<double> amounts;  ///< b at the optimum
};

/// A group of neighbouring amounts, which add up to at most `most`.
struct AmountLimit {
  std::size_t first = 0;
  std::size_t count = 0;
  double most = 1;
};

/// The second objective; no weights: any optimum will do.
struct SecondObjective {
  std::vector<double> weights = {};  ///< w, one per amount
  double slack = 0;                  ///< s
};

/// Solves the program above for `variables` amounts.
DeadlineSolution minimise_deadline(std::size_t variables, const std::vector<DeadlineRow>& rows,
                                   const std::vector<AmountLimit>& limits,
                                   const SecondObjective& second = {});

/// The same for amounts that all together add up to at most `total`.
DeadlineSolution minimise_deadline(std::size_t variables, const std::vector<DeadlineRow>& rows,
                                   double total);

}  // namespace polypath::model
