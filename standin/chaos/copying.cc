#include "standin/chaos/copying.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "driver/sim/repeat.h"

namespace polypath::standin::chaos {
namespace {

// Small enough for others to come in between, large enough for 64 MiB to take few turns.
constexpr std::size_t kLeastPiece = std::size_t{4} << 10, kMostPiece = std::size_t{1} << 20;
constexpr std::uint64_t kMostPieces = 16;  // of what is not larger than that many of the largest

std::size_t piece_of(std::size_t bytes, std::size_t unit, Chance& chance) {
  const std::size_t wanted = bytes / chance.between(1, kMostPieces);
  const std::size_t piece = std::clamp(wanted, kLeastPiece, kMostPiece);
  return piece / unit * unit;
}

}  // namespace

// A stride that has no factor in common with the count meets every piece once.
Pieces::Pieces(std::size_t bytes, std::size_t unit, Chance& chance)
    : bytes_(bytes),
      piece_(piece_of(bytes, unit, chance)),
      count_((bytes + piece_ - 1) / piece_),
      first_(chance.below(count_)),
      stride_(chance.between(1, count_)) {
  while (std::gcd(stride_, count_) != 1) --stride_;
}

Pieces::Piece Pieces::next() {
  const std::size_t offset = (first_ + stride_ * taken_++) % count_ * piece_;
  return {offset, std::min(piece_, bytes_ - offset)};
}

void Place::let_go() {
  if (block) bytes_alone = block->bytes_alone();
  block.reset();
}

CopyJob::CopyJob(Place destination, Place source, Bytes bytes, bool staged,
                 std::function<void()> when_done)
    : destination_(std::move(destination)),
      source_(std::move(source)),
      bytes_(bytes.value),
      staged_(staged),
      when_done_(std::move(when_done)) {}

void CopyJob::stage() {
  staging_.assign(source_.bytes, source_.bytes + bytes_);
  source_ = {staging_.data(), nullptr};
  staged_ = false;
}

JobState CopyJob::step(Chance& chance) {
  if (staged_) {
    stage();
    return JobState::source_read;
  }
  if (!pieces_) pieces_.emplace(bytes_, 1, chance);
  const auto [offset, bytes] = pieces_->next();
  std::memmove(destination_.bytes + offset, source_.bytes + offset, bytes);
  if (!pieces_->done()) return JobState::more;
  if (when_done_) when_done_();
  return JobState::done;
}

FillJob::FillJob(Place destination, Bytes bytes, std::vector<std::byte> pattern)
    : destination_(std::move(destination)), bytes_(bytes.value), pattern_(std::move(pattern)) {}

JobState FillJob::step(Chance& chance) {
  if (!pieces_) pieces_.emplace(bytes_, pattern_.size(), chance);
  const auto [offset, bytes] = pieces_->next();
  sim::repeat(destination_.bytes + offset, bytes, pattern_);
  return pieces_->done() ? JobState::done : JobState::more;
}

}  // namespace polypath::standin::chaos
