#pragma once
// The memories of a simulated machine: real bytes behind every address, or none in timing runs.

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "driver/driver.h"

namespace polypath::sim {

/// The memory behind one allocation: the addresses that the driver's user knows, and where the
/// simulator finds their bytes. The two may differ, so that touching a GPU's memory from the host
/// faults as it does on a real GPU.
class Backing {
 public:
  Backing() = default;
  Backing(const Backing&) = delete;
  Backing& operator=(const Backing&) = delete;
  virtual ~Backing() = default;

  [[nodiscard]] virtual Address base() const = 0;
  [[nodiscard]] virtual std::byte* bytes() const = 0;
  /// True if what lies behind its end may be one range with it.
  [[nodiscard]] virtual bool may_go_on() const { return false; }
};

/// One allocation. Its bytes live until the last copy that uses them is done, even after free.
class Block {
 public:
  /// `id` is never given twice.
  Block(PlaceId place, Bytes size, std::unique_ptr<Backing> backing, std::uint64_t id)
      : place_(place), size_(size), backing_(std::move(backing)), id_(id) {}

  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] MemoryInfo info() const { return {place_, backing_->base(), size_}; }
  /// Where the simulator finds the byte that the user knows by `address`, which is in the block.
  [[nodiscard]] std::byte* bytes_at(Address address) const {
    return backing_->bytes() + (address.value - backing_->base().value);
  }
  [[nodiscard]] bool may_go_on() const { return backing_->may_go_on(); }
  /// Keeps the bytes, not the allocation.
  [[nodiscard]] std::shared_ptr<void> bytes_alone() const { return backing_; }

 private:
  PlaceId place_;
  Bytes size_;
  std::shared_ptr<Backing> backing_;
  std::uint64_t id_;
};

using BlockPointer = std::shared_ptr<Block>;

/// All live allocations.
class Memory {
 public:
  /// Without `touchable` bytes, allocations have addresses only and cost nothing.
  explicit Memory(bool touchable) : touchable_(touchable) {}

  /// Memory of this process at the very addresses that the user knows. Error (out_of_memory) if the
  /// host has no room for it.
  Address allocate(PlaceId place, Bytes bytes);
  /// Memory that was made elsewhere becomes an allocation.
  Address adopt(PlaceId place, Bytes bytes, std::unique_ptr<Backing> backing);
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
  std::uint64_t made_ = 0;  ///< allocations so far
  bool touchable_;
  std::map<std::uintptr_t, BlockPointer> blocks_;
};

}  // namespace polypath::sim
