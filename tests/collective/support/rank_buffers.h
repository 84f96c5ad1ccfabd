#pragma once
// The memories of a collective's ranks on a simulated machine: their inputs and outputs, with
// margins that must stay untouched.

#include <gtest/gtest.h>

#include <vector>

#include "collective/program/request.h"
#include "driver/driver.h"
#include "support/layers.h"

namespace polypath::test {

class RankBuffers {
 public:
  /// Memories start at `misaligned` bytes from what the driver allocates.
  RankBuffers(Driver& driver, CollectiveRequest request, Bytes misaligned = {});
  RankBuffers(const RankBuffers&) = delete;
  RankBuffers& operator=(const RankBuffers&) = delete;
  ~RankBuffers();

  /// In the order of the program's buffers.
  [[nodiscard]] const std::vector<Address>& addresses() const { return addresses_; }
  /// Writes the inputs, and into everything else what no result is.
  void fill();
  /// Where a rank's result is.
  [[nodiscard]] std::byte* output(int rank) const;
  /// Success if all outputs are right, all inputs out of place as they were, and no byte beside
  /// the memories has changed.
  [[nodiscard]] testing::AssertionResult right() const;

 private:
  struct Memory {
    Address allocated;
    Bytes bytes;
  };

  void add(int rank, Bytes bytes);
  [[nodiscard]] std::byte* contents(std::size_t memory) const;
  [[nodiscard]] bool margins_are_intact() const;
  [[nodiscard]] bool inputs_are_intact() const;

  Driver& driver_;
  CollectiveRequest request_;
  Bytes misaligned_;
  std::vector<Memory> memories_;
  std::vector<Address> addresses_;
};

}  // namespace polypath::test
