#pragma once
// By which of its addresses a node is reached by the others. It has several: of its adapters, of
// bridges to containers and virtual machines, its loopback.
//
//   all of a rank  −  loopback  −  those that a rank on another computer has, too (bridges do)
//   of these the first in whose network all other computers have one; else the first; IPv4 first

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace polypath::communicator {

/// An address of an interface, and how many of its leading bits are those of its network.
struct OwnAddress {
  std::array<std::uint8_t, 16> bytes{};
  std::uint8_t length = 0;  ///< 4 or 16
  std::uint8_t network_bits = 0;

  /// As connections are made to it: "10.0.0.7".
  [[nodiscard]] std::string host() const;
  /// Whether another one is reached without a router.
  [[nodiscard]] bool is_beside(const OwnAddress& other) const;
  auto operator<=>(const OwnAddress&) const = default;
};

/// Reads "10.0.0.7/24". None if the text is no address.
std::optional<OwnAddress> parse_own_address(const std::string& text);

/// Of the interfaces that are up, without loopback and those that need one named with them.
std::vector<OwnAddress> own_addresses();

/// A rank's computer, and the addresses that it sees there.
struct RankAddresses {
  std::string computer;  ///< this_node()
  std::vector<OwnAddress> addresses;
};

/// By which all others reach a rank: the loopback if all are on one computer; none if it has no
/// address.
std::optional<std::string> reachable_host(const std::vector<RankAddresses>& ranks, int rank);

}  // namespace polypath::communicator
