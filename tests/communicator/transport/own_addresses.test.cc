// By which address a node is reached: out of what the ranks see of themselves and of each other.

#include "communicator/transport/own_addresses.h"

#include <gtest/gtest.h>

#include "support/layers.h"

namespace polypath::test::own_addresses_test {
namespace {

RankAddresses rank_on(const std::string& computer, const std::vector<std::string>& addresses) {
  RankAddresses rank{.computer = computer, .addresses = {}};
  for (const std::string& each : addresses)
    rank.addresses.push_back(parse_own_address(each).value());
  return rank;
}

TEST(OwnAddresses, AreReadAndWritten) {
  EXPECT_EQ(parse_own_address("10.0.0.7/24").value().host(), "10.0.0.7");
  EXPECT_EQ(parse_own_address("fd00::7/64").value().host(), "fd00::7");
  for (const char* const text : {"", "10.0.0.7", "10.0.0.7/", "10.0.0/24", "10.0.0.7/33", "a/8",
                                 "10.0.0.7/24x", "fd00::7/129"})
    EXPECT_FALSE(parse_own_address(text)) << text;
}

// 10.0.15.1 and 10.0.16.1 differ in bit 20 first (15 = 00001111, 16 = 00010000).
TEST(OwnAddresses, AreBesideThoseWithTheSameLeadingBits) {
  const auto are_beside = [](const std::string& one, const std::string& other) {
    return parse_own_address(one).value().is_beside(parse_own_address(other).value());
  };

  EXPECT_TRUE(are_beside("10.0.15.1/19", "10.0.16.1/19"));
  EXPECT_FALSE(are_beside("10.0.15.1/20", "10.0.16.1/20"));
  EXPECT_TRUE(are_beside("10.0.0.1/32", "10.0.0.1/32"));
  EXPECT_TRUE(are_beside("10.0.0.1/0", "192.168.0.1/0"));
  EXPECT_FALSE(are_beside("10.0.0.1/8", "10.0.0.2/16"));
  EXPECT_FALSE(are_beside("0.0.0.0/0", "::/0"));
  EXPECT_TRUE(are_beside("fd00::1/64", "fd00::2/64"));
}

TEST(ReachableHost, IsTheLoopbackOnOneComputer) {
  EXPECT_EQ(reachable_host({rank_on("a", {"10.0.0.1/24"}), rank_on("a", {})}, 1), "127.0.0.1");
}

// Bridges to containers have one address on all computers, and come first here.
TEST(ReachableHost, IsNoAddressThatAnotherComputerHas) {
  const std::vector<RankAddresses> ranks = {rank_on("a", {"172.17.0.1/16", "10.0.0.1/24"}),
                                            rank_on("b", {"172.17.0.1/16", "10.0.0.2/24"})};

  EXPECT_EQ(reachable_host(ranks, 0), "10.0.0.1");
  EXPECT_EQ(reachable_host(ranks, 1), "10.0.0.2");
}

TEST(ReachableHost, IsInANetworkThatAllComputersAreIn) {
  const std::vector<RankAddresses> ranks = {
      rank_on("a", {"192.168.1.5/24", "10.1.0.1/16", "10.0.0.1/24"}),
      rank_on("a", {"192.168.1.5/24", "10.1.0.1/16", "10.0.0.1/24"}),
      rank_on("b", {"192.168.2.5/24", "10.1.7.2/16", "10.0.0.2/24"}),
      rank_on("c", {"192.168.3.5/24", "10.0.0.3/24"})};

  for (const int rank : {0, 1, 2, 3})
    EXPECT_EQ(reachable_host(ranks, rank).value().substr(0, 7), "10.0.0.") << rank;
}

TEST(ReachableHost, IsTheFirstOneWhereRoutersAreBetweenThem) {
  const std::vector<RankAddresses> ranks = {rank_on("a", {"10.1.0.1/24", "10.2.0.1/24"}),
                                            rank_on("b", {"10.3.0.1/24"})};

  EXPECT_EQ(reachable_host(ranks, 0), "10.1.0.1");
}

// Two containers that share the computer's network, but no memory.
TEST(ReachableHost, IsAnAddressThatAllHaveWhereThereIsNoOther) {
  const std::vector<RankAddresses> ranks = {rank_on("a", {"10.0.0.1/24"}),
                                            rank_on("b", {"10.0.0.1/24"})};

  EXPECT_EQ(reachable_host(ranks, 1), "10.0.0.1");
}

TEST(ReachableHost, IsNoneWithoutAnAddress) {
  EXPECT_FALSE(reachable_host({rank_on("a", {}), rank_on("b", {"10.0.0.1/24"})}, 0));
}

TEST(OwnAddresses, OfThisComputerAreNoLoopback) {
  for (const OwnAddress& each : own_addresses()) {
    EXPECT_NE(each.host(), "127.0.0.1");
    EXPECT_NE(each.host(), "::1");
    EXPECT_TRUE(each.is_beside(each));
  }
}

}  // namespace
}  // namespace polypath::test::own_addresses_test
