#pragma once
// Who may touch a piece of memory.

#include <initializer_list>
#include <optional>

#include "plan/options.h"

namespace polypath::engine {

/// The GPUs whose copies may touch a piece of memory, in Polypath's contexts.
class Reach {
 public:
  /// All of them: memory of a host, and memory that peer access opens.
  Reach() = default;
  /// These only: memory of a pool or of virtual addresses, which is opened GPU by GPU.
  static Reach only(std::initializer_list<PlaceId> gpus) {
    Reach reach;
    reach.gpus_.emplace();
    for (const PlaceId gpu : gpus)
      if (gpu.valid()) reach.gpus_->insert(gpu);
    return reach;
  }
  /// None: what only the program's own calls may copy.
  static Reach none() { return only({}); }

  [[nodiscard]] bool everyone() const { return !gpus_; }
  [[nodiscard]] bool includes(PlaceId gpu) const { return !gpus_ || gpus_->contains(gpu); }

 private:
  std::optional<PlaceSet> gpus_;  ///< none: all
};

}  // namespace polypath::engine
