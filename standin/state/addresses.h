#pragma once
// Addresses of GPUs' memory, as the program sees them: the host faults where it touches one.

#include <vector>

#include "driver/driver.h"

namespace polypath::standin {

class Addresses {
 public:
  /// With `reuse`, the range that was given back last is handed out first, to any request that fits
  /// about as well, as seen on H200; without, the kernel decides.
  explicit Addresses(bool reuse) : reuse_(reuse) {}

  /// Error (out_of_memory) if there are none left.
  Address take(Bytes size);
  void give_back(Address begin, Bytes size);

 private:
  struct Range {
    Address begin;
    Bytes size;
  };

  bool reuse_;
  std::vector<Range> free_;  ///< still out of the host's reach; the newest last
};

}  // namespace polypath::standin
