#pragma once
// Algorithms that write the same program as another one does for a request: trees are an exchange
// where every two GPUs have a link, and a chain has the same parts with several radices.

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "collective/algorithms/algorithm.h"
#include "collective/choose/send_modes.h"

namespace polypath::collective {

/// What an algorithm's program depends on beside its pieces.
struct Variant {
  const Algorithm* algorithm = nullptr;
  int radix = 2;
  SendMode mode = {};

  auto operator<=>(const Variant&) const = default;
};

class Twins {
 public:
  /// The variant's program.
  void note(const Variant& variant, const Program& program);
  /// The first one that was noted with the same program; itself if it was not noted.
  [[nodiscard]] Variant of(const Variant& variant) const;
  /// What a draft is known by: that of its first twin.
  template <class Draft>
  [[nodiscard]] auto first_like(const Draft& draft) const {
    const Variant first = of({draft.algorithm, draft.tuning.radix, mode_of(draft.tuning)});
    Tuning tuning = draft.tuning;
    tuning.radix = first.radix;
    set_mode(tuning, first.mode);
    return std::tuple(first.algorithm, tuning, draft.executor);
  }
  /// True if another variant of the algorithm that was noted before writes the same program.
  [[nodiscard]] bool is_like_another(const Variant& variant) const;

 private:
  std::map<std::vector<std::uint64_t>, Variant> first_of_;  ///< by what the program does
  std::map<Variant, Variant> first_;
};

}  // namespace polypath::collective
