#pragma once
// A driver that hands calls on to another one; tests override what they want to go wrong. What the
// interface itself makes of others stays so: staging memory is what `allocate` gives.

#include "driver/forwarding_driver.h"
#include "support/layers.h"

namespace polypath::test {

class ForwardingDriver : public driver::ForwardingDriver {
 public:
  using driver::ForwardingDriver::ForwardingDriver;

  Address allocate_staging(PlaceId place, const StagingUsers& users, Bytes bytes) override {
    return Driver::allocate_staging(place, users, bytes);
  }
  bool is_open(PlaceId place) override { return Driver::is_open(place); }
};

}  // namespace polypath::test
