#pragma once
// Algorithms that write the same program as another one does for a request: trees are an exchange
// where every two GPUs have a link, and a chain has the same parts with several radices.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "collective/algorithms/algorithm.h"

namespace polypath::collective {

/// An algorithm with a radix.
using Variant = std::pair<const Algorithm*, int>;

class Twins {
 public:
  /// The variant's program.
  void note(const Variant& variant, const Program& program);
  /// The first one that was noted with the same program; itself if it was not noted.
  [[nodiscard]] Variant of(const Variant& variant) const;
  /// True if the algorithm writes the same program with a radix noted before.
  [[nodiscard]] bool is_like_smaller(const Variant& variant) const;

 private:
  std::map<std::vector<std::uint64_t>, Variant> first_of_;  ///< by what the program does
  std::map<Variant, Variant> first_;
};

}  // namespace polypath::collective
