#pragma once
// The simulated driver on the machine with round figures (support/hand_machine.h), and short names
// for what its tests do most.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "driver/sim/sim_driver.h"
#include "support/bytes.h"
#include "support/hand_machine.h"

namespace polypath::test {

class HandDriver : public testing::Test {
 protected:
  static constexpr PlaceId kHost{3};

  static PlaceId gpu(int index) { return {index}; }

  Address memory(PlaceId place, std::uint64_t bytes) { return driver_.allocate(place, {bytes}); }

  CopyRequest request(Address destination, Address source, std::uint64_t bytes) {
    return {destination, driver_.find_memory(destination)->place,
            source,      driver_.find_memory(source)->place,
            {bytes},     {}};
  }
  void copy(Address destination, Address source, std::uint64_t bytes, StreamHandle stream) {
    driver_.copy(request(destination, source, bytes), stream);
  }

  /// Expects the calling thread's clock to show so many microseconds.
  void expect_now(double microseconds) { expect_time(driver_.now(), microseconds); }
  static void expect_time(Seconds time, double microseconds) {
    EXPECT_NEAR(time.value * 1e6, microseconds, 1e-6);
  }

  static void write(Address address, const Contents& contents) {
    std::memcpy(reinterpret_cast<void*>(address.value), contents.data(), contents.size());
  }
  static Contents read(Address address, std::size_t bytes) {
    const auto* begin = reinterpret_cast<const unsigned char*>(address.value);
    return {begin, begin + bytes};
  }

  sim::Options options_{true, true, true};
  sim::SimDriver driver_{hand_machine(), options_};
};

}  // namespace polypath::test
