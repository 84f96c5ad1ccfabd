#include "machine/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/hash.h"

namespace polypath::machine {
namespace {

// The zero byte after each part keeps ("ab", "c") apart from ("a", "bc").
class Parts {
 public:
  void add(const std::string& part) { hash_.add(part).add(0); }
  void add(std::int64_t number) { add(std::to_string(number)); }
  [[nodiscard]] std::uint64_t value() const { return hash_.value(); }

 private:
  Hash hash_;
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
  Parts hash;
  hash.add(machine.name);
  for (const Place& place : machine.places) {
    hash.add(place.name);
    hash.add(place.kind == PlaceKind::gpu ? "gpu" : "host");
    hash.add(place.model);
    hash.add(place.numa_node);
    if (place.node > 0) hash.add(fmt::format("node {}", place.node));
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

}  // namespace polypath::machine
