#pragma once
// Memory of a GPU for the time of one call, kept for the next ones.

#include <vector>

#include "driver/driver.h"

namespace polypath::mpi {

/// Not thread-safe. The driver must outlive it.
class Scratch {
 public:
  Scratch(Driver& driver, PlaceId place) : driver_(driver), place_(place) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  /// Memory until release_all(). Error (out_of_memory) if there is none.
  Address take(Bytes bytes);
  /// Nothing queued uses any of it.
  void release_all();

 private:
  struct Block {
    Address address;
    Bytes size;
    bool is_taken;
  };

  Driver& driver_;
  PlaceId place_;
  std::vector<Block> blocks_;
};

}  // namespace polypath::mpi
