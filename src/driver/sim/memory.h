#pragma once
// The memories of a simulated machine: real bytes behind every address, or none in timing runs.

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "driver/driver.h"

namespace polypath::sim {

/// One allocation. Its bytes live until the last copy that uses them is done, even after free.
class Block {
 public:
  /// Error (out_of_memory) if the host has no room for it. Without `backed` its bytes cannot be
  /// touched and cost nothing.
  Block(PlaceId place, Bytes size, bool backed);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  [[nodiscard]] MemoryInfo info() const { return {place_, base_, size_}; }

 private:
  PlaceId place_;
  Address base_;
  Bytes size_;
};

using BlockPointer = std::shared_ptr<Block>;

/// All live allocations.
class Memory {
 public:
  explicit Memory(bool backed) : backed_(backed) {}

  Address allocate(PlaceId place, Bytes bytes);
  /// Takes the allocation out of the table; null if there is none at `address`.
  BlockPointer remove(Address address);
  /// The live allocation that contains `address`.
  [[nodiscard]] BlockPointer find(Address address) const;
  /// The live allocation that contains the whole range at `place`; error (invalid_argument) says
  /// what is wrong with it, calling it `what`.
  [[nodiscard]] BlockPointer check(Address begin, Bytes bytes, PlaceId place,
                                   const std::string& what) const;
  [[nodiscard]] const std::map<std::uintptr_t, BlockPointer>& blocks() const { return blocks_; }

 private:
  bool backed_;
  std::map<std::uintptr_t, BlockPointer> blocks_;
};

}  // namespace polypath::sim
