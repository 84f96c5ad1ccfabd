#pragma once
// The simulated driver's memory: allocations, ordinary memory of the program that it has been told
// of, and where the bytes of either are.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/sim/mailboxes.h"
#include "driver/sim/memory.h"
#include "driver/sim/simulation.h"

namespace polypath::sim {

/// The functions are those of SimDriver with the same names.
class SimMemory {
 public:
  SimMemory(Simulation& simulation, Mailboxes& mailboxes);

  Address allocate(PlaceId place, Bytes bytes);
  Address adopt(PlaceId place, Bytes bytes, std::unique_ptr<Backing> backing);
  void free(Address address);
  [[nodiscard]] std::optional<MemoryInfo> find_memory(Address address) const;
  void add_pageable(Address address, Bytes bytes);
  void remove_pageable(Address address);
  /// "16777216 bytes at gpu0", ...
  [[nodiscard]] std::vector<std::string> leaks() const;

  /// The live allocation that contains the address; null if there is none.
  [[nodiscard]] BlockPointer block_at(Address address) const { return blocks_.find(address); }
  /// As Memory::check.
  BlockPointer check(Address begin, Bytes bytes, PlaceId place, const std::string& what) const {
    return blocks_.check(begin, bytes, place, what);
  }
  /// Where the byte is.
  [[nodiscard]] std::byte* bytes_at(Address address) const;
  [[nodiscard]] Touch touch(Address begin, Bytes bytes, bool writes) const;

 private:
  Simulation& simulation_;
  Mailboxes& mailboxes_;
  Memory blocks_;
  std::map<std::uintptr_t, Bytes> pageable_;  ///< by address
};

}  // namespace polypath::sim
