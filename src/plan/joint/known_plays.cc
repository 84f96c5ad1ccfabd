#include "plan/joint/known_plays.h"

#include <utility>

namespace polypath::plan {

std::size_t KnownPlays::Hash::operator()(const Key& key) const {
  std::uint64_t hash = key.size();
  for (const std::uint64_t word : key) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15U;  // odd, its bits as good as random: 2^64/φ
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash);
}

const std::vector<Prediction>* KnownPlays::find(std::span<const TransferShape> issued) {
  last_.clear();
  const auto note = [this](auto... values) {
    (last_.push_back(static_cast<std::uint64_t>(values)), ...);
  };
  for (const TransferShape& shape : issued) {
    note(shape.executor, shape.paths.size());
    for (const PathShape& part : shape.paths)
      note(part.path.first.value, part.path.first.pulled, part.path.second.value,
           part.path.second.pulled, part.bytes().value, part.chunks.size(),
           part.chunks.front().value, part.chunks.back().value);
  }
  const auto known = known_.find(last_);
  return known == known_.end() ? nullptr : &known->second;
}

void KnownPlays::add(std::vector<Prediction> predictions) {
  if (known_.size() >= kMost) known_.clear();
  known_.insert_or_assign(last_, std::move(predictions));
}

}  // namespace polypath::plan
