#pragma once
// What a search has played before: it comes back to the same shapes again and again. In its order
// of issue a set of shapes has one prediction, so that remembering it changes no plan.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/predict.h"

namespace polypath::plan {

class KnownPlays {
 public:
  /// Those of the shapes, in this order; null if they are new. Valid until the next call of add().
  [[nodiscard]] const std::vector<Prediction>* find(std::span<const TransferShape> issued);
  /// Of the shapes that find() was asked for last.
  void add(std::vector<Prediction> predictions);

 private:
  // Per path its hops, and its bytes, number of chunks, first and last chunk, which tell how it is
  // cut.
  using Key = std::vector<std::uint64_t>;
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  // A search has a few thousand plays.
  static constexpr std::size_t kMost = 4096;

  std::unordered_map<Key, std::vector<Prediction>, Hash> known_;
  Key last_;
};

}  // namespace polypath::plan
