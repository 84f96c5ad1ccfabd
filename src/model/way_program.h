#pragma once
// Divides demands among ways so that the busiest resource is free as early as possible:
//
//   min T   subject to   Σ_w a_rw·x_w <= T for every resource r,   and   Σ_{w of k} x_w = d_k
//
// for every demand k, with a_rw the time that a unit by way w occupies r. There may be more ways
// than anybody can list, so they are found as they are needed (column generation: Ford and
// Fulkerson 1958, Gilmore and Gomory 1961): at the optimum over the ways that are known, each
// resource has a price, how much T lessens if it is given a unit of time, and a demand a value.
// A way gains if Σ_r price_r·a_rw is less than its demand's value, and no way does so at the optimum
// over all. For any prices of sum 1, T is at least Σ_k d_k·(the least such cost of k).
//
// Revised simplex with a dense inverse; some tens of resources and demands.

#include <cstddef>
#include <vector>

namespace polypath {

/// A unit of a way occupies the resource for so long.
struct BusyTime {
  std::size_t resource = 0;
  double time = 0;
};
using BusyTimes = std::vector<BusyTime>;  ///< each resource once at most

class WayProgram {
 public:
  /// Each demand has to be given a way before solve().
  WayProgram(std::size_t resources, std::vector<double> demands);

  /// Returns its number: ways count from 0.
  std::size_t add(std::size_t demand, BusyTimes times);
  /// The optimum over the ways there are; goes on from the last one.
  void solve();

  [[nodiscard]] double time() const { return amounts_[row_of_time_]; }
  /// Of a demand, the part that goes this way, from 0 to 1.
  [[nodiscard]] double share_of(std::size_t way) const;
  [[nodiscard]] double price_of(std::size_t resource) const;
  [[nodiscard]] double value_of(std::size_t demand) const;

 private:
  static constexpr std::size_t kTime = static_cast<std::size_t>(-1);
  struct Way {
    std::size_t demand;
    BusyTimes times;
  };
  // A variable of the basis: T, the slack of a resource, or a way.
  struct Variable {
    enum class Kind { time, slack, way } kind = Kind::slack;
    std::size_t number = 0;
  };
  using Vector = std::vector<double>;

  void start();
  [[nodiscard]] bool improve();
  [[nodiscard]] double reduced_cost(const Way& way) const;
  [[nodiscard]] Vector column_of(const Variable& variable) const;
  [[nodiscard]] std::size_t leaving(const Vector& column) const;
  void pivot(std::size_t row, const Vector& column, const Variable& entering);
  [[nodiscard]] std::size_t size() const { return resources_ + demands_.size(); }

  std::size_t resources_;
  Vector demands_;
  std::vector<Way> ways_;
  std::vector<Variable> basis_;  ///< by row; none before the first solve()
  Vector amounts_;               ///< of the basis
  std::vector<Vector> inverse_;  ///< of the basis' columns
  std::size_t row_of_time_ = 0;
};

}  // namespace polypath
