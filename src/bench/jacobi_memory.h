#pragma once
// The memories of a Jacobi grid on its GPUs.

#include <cstddef>
#include <vector>

#include "bench/jacobi_grid.h"
#include "driver/driver.h"

namespace polypath::bench {

class JacobiMemory {
 public:
  /// Contents are undefined.
  JacobiMemory(Driver& driver, const Machine& machine, const JacobiGrid& grid);
  JacobiMemory(const JacobiMemory&) = delete;
  JacobiMemory& operator=(const JacobiMemory&) = delete;
  /// Nothing queued may use it.
  ~JacobiMemory();

  /// The beginning of a slice of the grid, and of each GPU's memory in order.
  [[nodiscard]] Address address(const Slice& slice) const;
  [[nodiscard]] const std::vector<Address>& addresses() const { return addresses_; }

  /// Gives both arrays their first values, halos included.
  void fill();
  /// The whole grid without halos, row after row, of one array.
  [[nodiscard]] std::vector<float> values(int array);

 private:
  void copy(Address destination, PlaceId to, Address source, PlaceId from, Bytes bytes);

  Driver& driver_;
  const JacobiGrid& grid_;
  PlaceId host_;
  std::vector<Address> addresses_;
};

}  // namespace polypath::bench
