#pragma once
// Two programs on the stand-in, of which one maps the other's memory.

#include <gtest/gtest.h>

#include "standin/peer.h"
#include "support/layers.h"

namespace polypath::test {

inline const std::string kInvalidValue = "error 1", kInvalidContext = "error 201";
inline const std::string kNotFound = "error 500";
inline const std::string kPeerAccessUnsupported = "error 217";

class StandInIpc : public testing::Test {
 protected:
  static void start(Peer& peer, int gpu) {
    ASSERT_EQ(peer.ask("init"), "ok");
    ASSERT_EQ(peer.ask("device " + std::to_string(gpu)), "ok");
  }
  void SetUp() override {
    start(exporter_, 0);
    start(importer_, 1);
  }

  // Device memory of the exporter with known contents.
  std::string exported(int bytes, int seed) {
    const std::string memory = exporter_.ask("alloc " + std::to_string(bytes));
    EXPECT_EQ(exporter_.ask("write " + memory + say(bytes, seed)), "ok");
    return memory;
  }
  static std::string say(int bytes, int seed) {
    return " " + std::to_string(bytes) + " " + std::to_string(seed);
  }
  static std::string after(const std::string& address, int offset) {
    return std::to_string(std::stoull(address) + static_cast<unsigned long long>(offset));
  }
  static bool holds(Peer& peer, const std::string& memory, int bytes, int seed) {
    return peer.ask("check " + memory + say(bytes, seed)) == "same";
  }

  Peer exporter_, importer_;
};

}  // namespace polypath::test
