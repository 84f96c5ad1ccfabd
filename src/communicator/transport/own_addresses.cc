#include "communicator/transport/own_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>

namespace polypath::communicator {
namespace {

constexpr const char* kLoopback = "127.0.0.1";
constexpr std::size_t kShort = sizeof(in_addr), kLong = sizeof(in6_addr);

int family_of(const OwnAddress& address) { return address.length == kShort ? AF_INET : AF_INET6; }

const void* raw_address(const sockaddr& of) {
  if (of.sa_family == AF_INET) return &reinterpret_cast<const sockaddr_in&>(of).sin_addr;
  return &reinterpret_cast<const sockaddr_in6&>(of).sin6_addr;
}

// A mask's ones are all at its beginning.
std::uint8_t ones_in(const sockaddr& mask, std::size_t length) {
  const auto* const bytes = static_cast<const std::uint8_t*>(raw_address(mask));
  int ones = 0;
  for (std::size_t i = 0; i < length; ++i) ones += std::popcount(bytes[i]);
  return static_cast<std::uint8_t>(ones);
}

// Link-local addresses of IPv6 mean something only together with an interface.
bool is_usable(const ifaddrs& each) {
  if (each.ifa_addr == nullptr || each.ifa_netmask == nullptr) return false;
  if ((each.ifa_flags & IFF_UP) == 0 || (each.ifa_flags & IFF_LOOPBACK) != 0) return false;
  if (each.ifa_addr->sa_family == AF_INET) return true;
  if (each.ifa_addr->sa_family != AF_INET6) return false;
  return !IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<sockaddr_in6*>(each.ifa_addr)->sin6_addr);
}

OwnAddress address_of(const ifaddrs& each) {
  const bool is_short = each.ifa_addr->sa_family == AF_INET;
  OwnAddress address;
  address.length = static_cast<std::uint8_t>(is_short ? kShort : kLong);
  std::memcpy(address.bytes.data(), raw_address(*each.ifa_addr), address.length);
  address.network_bits = ones_in(*each.ifa_netmask, address.length);
  return address;
}

bool has(const RankAddresses& rank, const OwnAddress& address) {
  return std::find(rank.addresses.begin(), rank.addresses.end(), address) != rank.addresses.end();
}

bool has_beside(const RankAddresses& rank, const OwnAddress& address) {
  return std::any_of(rank.addresses.begin(), rank.addresses.end(),
                     [&](const OwnAddress& each) { return address.is_beside(each); });
}

}  // namespace

std::string OwnAddress::host() const {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(family_of(*this), bytes.data(), text, sizeof text);
  return text;
}

bool OwnAddress::is_beside(const OwnAddress& other) const {
  if (length != other.length || network_bits != other.network_bits) return false;
  const std::size_t whole = network_bits / 8;
  if (std::memcmp(bytes.data(), other.bytes.data(), whole) != 0) return false;
  const int rest = network_bits % 8;
  return rest == 0 || (bytes[whole] ^ other.bytes[whole]) >> (8 - rest) == 0;
}

std::optional<OwnAddress> parse_own_address(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return {};
  const bool is_short = text.find(':') == std::string::npos;
  OwnAddress address;
  address.length = static_cast<std::uint8_t>(is_short ? kShort : kLong);
  const std::string host = text.substr(0, slash);
  if (inet_pton(family_of(address), host.c_str(), address.bytes.data()) != 1) return {};
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + slash + 1, end, address.network_bits);
  if (read.ec != std::errc() || read.ptr != end || address.network_bits > 8 * address.length)
    return {};
  return address;
}

std::vector<OwnAddress> own_addresses() {
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(found, freeifaddrs);
  std::vector<OwnAddress> addresses;
  for (const ifaddrs* each = found; each != nullptr; each = each->ifa_next)
    if (is_usable(*each)) addresses.push_back(address_of(*each));
  std::stable_partition(addresses.begin(), addresses.end(),
                        [](const OwnAddress& each) { return each.length == kShort; });
  return addresses;
}

std::optional<std::string> reachable_host(const std::vector<RankAddresses>& ranks, int rank) {
  const RankAddresses& own = ranks[static_cast<std::size_t>(rank)];
  std::vector<const RankAddresses*> others;
  for (const RankAddresses& each : ranks)
    if (each.computer != own.computer) others.push_back(&each);
  if (others.empty()) return kLoopback;
  std::vector<OwnAddress> alone;
  for (const OwnAddress& each : own.addresses)
    if (std::none_of(others.begin(), others.end(), [&](auto* other) { return has(*other, each); }))
      alone.push_back(each);
  // Containers that share the network of one computer have all addresses in common.
  const std::vector<OwnAddress>& usable = alone.empty() ? own.addresses : alone;
  const auto beside_all = std::find_if(usable.begin(), usable.end(), [&](const OwnAddress& each) {
    return std::all_of(others.begin(), others.end(),
                       [&](auto* other) { return has_beside(*other, each); });
  });
  if (beside_all != usable.end()) return beside_all->host();
  if (usable.empty()) return {};
  return usable.front().host();
}

}  // namespace polypath::communicator
