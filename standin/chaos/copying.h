#pragma once
// Jobs that move or write bytes, in pieces and not from front to back.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "driver/sim/memory.h"
#include "standin/chaos/job.h"

namespace polypath::standin::chaos {

/// Bytes, and the allocation that they must not outlive; none of pageable memory.
struct Place {
  std::byte* bytes = nullptr;
  sim::BlockPointer block;
  std::shared_ptr<void> bytes_alone = nullptr;

  /// The program may free the allocation from now on. The bytes stay.
  void let_go();
};

/// The order in which the pieces of a job are done.
class Pieces {
 public:
  /// Cuts `bytes` into pieces whose lengths, but for the last, are multiples of `unit`.
  Pieces(std::size_t bytes, std::size_t unit, Chance& chance);

  struct Piece {
    std::size_t offset;
    std::size_t bytes;
  };
  [[nodiscard]] bool done() const { return taken_ == count_; }
  Piece next();

 private:
  std::size_t bytes_;
  std::size_t piece_;
  std::size_t count_;
  std::size_t first_;
  std::size_t stride_;
  std::size_t taken_ = 0;
};

class CopyJob final : public Job {
 public:
  /// With `staged`, all bytes of the source are read in the first step. `when_done` may be empty.
  CopyJob(Place destination, Place source, Bytes bytes, bool staged,
          std::function<void()> when_done);
  /// Reads the source now.
  void stage();

  JobState step(Chance& chance) override;

 private:
  Place destination_, source_;
  std::size_t bytes_;
  bool staged_;
  std::vector<std::byte> staging_;
  std::optional<Pieces> pieces_;
  std::function<void()> when_done_;
};

class FillJob final : public Job {
 public:
  FillJob(Place destination, Bytes bytes, std::vector<std::byte> pattern);

  JobState step(Chance& chance) override;

 private:
  Place destination_;
  std::size_t bytes_;
  std::vector<std::byte> pattern_;
  std::optional<Pieces> pieces_;
};

}  // namespace polypath::standin::chaos
