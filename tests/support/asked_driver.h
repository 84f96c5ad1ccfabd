#pragma once

#include <optional>

#include "support/forwarding_driver.h"
#include "support/layers.h"

namespace polypath::test {

/// Counts how often it is asked what memory is.
class AskedDriver : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  std::optional<MemoryInfo> find_memory(Address address) override {
    ++asked;
    return ForwardingDriver::find_memory(address);
  }
  int asked = 0;
};

}  // namespace polypath::test
