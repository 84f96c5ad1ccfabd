#include "machine/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace polypath {
namespace {

// FNV-1a, 64 bits (Fowler, Noll, Vo).
class Hash {
 public:
  // The zero byte after each part keeps ("ab", "c") apart from ("a", "bc").
  void add(const std::string& part) {
    for (const char letter : part) mix(static_cast<unsigned char>(letter));
    mix(0);
  }
  void add(std::int64_t number) { add(std::to_string(number)); }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void mix(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3U; }

  std::uint64_t value_ = 0xcbf29ce484222325U;
};

// As a file that is read gives them.
std::vector<Hop> sorted_hops(const Machine& machine) {
  std::vector<Hop> hops = machine.hops;
  std::sort(hops.begin(), hops.end(), [](const Hop& a, const Hop& b) {
    return std::pair(a.source, a.destination) < std::pair(b.source, b.destination);
  });
  return hops;
}

}  // namespace

std::string fingerprint(const Machine& machine) {
  Hash hash;
  hash.add(machine.name);
  for (const Place& place : machine.places) {
    hash.add(place.name);
    hash.add(place.kind == PlaceKind::gpu ? "gpu" : "host");
    hash.add(place.model);
    hash.add(place.numa_node);
  }
  for (const Resource& resource : machine.resources) {
    hash.add(resource.name);
    hash.add(resource.kind);
    hash.add(resource.copies_at_once);
    hash.add(std::isfinite(resource.capacity.value) ? "limited" : "unlimited");
  }
  for (const Hop& hop : sorted_hops(machine)) {
    hash.add(machine.place(hop.source).name);
    hash.add(machine.place(hop.destination).name);
    hash.add(static_cast<int>(hop.kind));
    for (const Use& use : hop.uses) {
      hash.add(machine.resource(use.resource).name);
      hash.add(std::llround(use.weight * 1e6));
    }
  }
  return fmt::format("{:016x}", hash.value());
}

}  // namespace polypath
