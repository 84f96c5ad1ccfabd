#pragma once
// A driver that has no context yet.

#include "support/forwarding_driver.h"
#include "support/layers.h"

namespace polypath::test {

/// Nothing is open on it.
class ClosedDriver final : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  bool is_open(PlaceId) override { return false; }
};

}  // namespace polypath::test
