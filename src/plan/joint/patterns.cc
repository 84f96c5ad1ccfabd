#include "plan/joint/patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/text.h"

namespace polypath::plan {
namespace {

using Gpus = std::vector<PlaceId>;

// Transfers as pairs of places; sizes are added later.
class Transfers {
 public:
  Transfers(const Machine& machine, Bytes bytes) : machine_(machine), bytes_(bytes) {}

  void add(PlaceId source, PlaceId destination) { all_.push_back({source, destination, bytes_}); }
  /// The host nearest to a GPU.
  [[nodiscard]] PlaceId host_of(PlaceId gpu) const {
    const PlaceId host = machine_.nearest_host(gpu);
    if (!host.valid())
      fail(ErrorCode::invalid_argument, "the pattern needs a host",
           fmt::format("machine '{}' has none", machine_.name), "Choose a pattern between GPUs.");
    return host;
  }
  [[nodiscard]] std::vector<JointTransfer> all() && { return std::move(all_); }

 private:
  const Machine& machine_;
  Bytes bytes_;
  std::vector<JointTransfer> all_;
};

void ring(const Gpus& gpus, Transfers& transfers) {
  for (std::size_t g = 0; g < gpus.size(); ++g) transfers.add(gpus[g], gpus[(g + 1) % gpus.size()]);
}

void pairs(const Gpus& gpus, Transfers& transfers) {
  for (std::size_t g = 0; g + 1 < gpus.size(); g += 2) {
    transfers.add(gpus[g], gpus[g + 1]);
    transfers.add(gpus[g + 1], gpus[g]);
  }
}

void fan_out(const Gpus& gpus, Transfers& transfers) {
  for (std::size_t g = 1; g < gpus.size(); ++g) transfers.add(gpus[0], gpus[g]);
}

void gather(const Gpus& gpus, Transfers& transfers) {
  for (std::size_t g = 1; g < gpus.size(); ++g) transfers.add(gpus[g], gpus[0]);
}

void all_to_all(const Gpus& gpus, Transfers& transfers) {
  for (std::size_t round = 1; round < gpus.size(); ++round)
    for (std::size_t g = 0; g < gpus.size(); ++g)
      transfers.add(gpus[g], gpus[(g + round) % gpus.size()]);
}

void scatter(const Gpus& gpus, Transfers& transfers) {
  for (const PlaceId gpu : gpus) transfers.add(transfers.host_of(gpu), gpu);
}

void collect(const Gpus& gpus, Transfers& transfers) {
  for (const PlaceId gpu : gpus) transfers.add(gpu, transfers.host_of(gpu));
}

struct NamedPattern {
  std::string_view name;
  std::size_t least_gpus;
  void (*make)(const Gpus&, Transfers&);
};

constexpr std::array kPatterns{
    NamedPattern{"ring", 2, ring},           NamedPattern{"pairs", 2, pairs},
    NamedPattern{"fan-out", 2, fan_out},     NamedPattern{"gather", 2, gather},
    NamedPattern{"alltoall", 2, all_to_all}, NamedPattern{"scatter", 1, scatter},
    NamedPattern{"collect", 1, collect}};

Gpus first_gpus(const Machine& machine, const NamedPattern& pattern, std::size_t count) {
  Gpus gpus = machine.places_of(PlaceKind::gpu);
  const std::size_t wanted = count == 0 ? gpus.size() : count;
  if (wanted > gpus.size())
    fail(ErrorCode::invalid_argument,
         fmt::format("pattern '{}' cannot have {} GPUs", pattern.name, wanted),
         fmt::format("machine '{}' has {}", machine.name, gpus.size()),
         "Ask for fewer, or choose another machine.");
  if (wanted < pattern.least_gpus)
    fail(ErrorCode::invalid_argument, fmt::format("pattern '{}' cannot be made", pattern.name),
         fmt::format("it needs {} GPUs, and there are {}", pattern.least_gpus, wanted),
         "Choose another pattern or machine.");
  gpus.resize(wanted);
  return gpus;
}

}  // namespace

std::vector<std::string> pattern_names() {
  std::vector<std::string> names;
  for (const NamedPattern& pattern : kPatterns) names.emplace_back(pattern.name);
  return names;
}

std::vector<JointTransfer> pattern_of(const Machine& machine, std::string_view name, Bytes bytes,
                                      std::size_t gpus) {
  const auto found =
      std::find_if(kPatterns.begin(), kPatterns.end(),
                   [&](const NamedPattern& pattern) { return pattern.name == name; });
  if (found == kPatterns.end())
    fail(ErrorCode::invalid_argument, fmt::format("unknown pattern '{}'", name),
         fmt::format("there are {}", join(pattern_names(), ", ")), "Name one of them.");
  Transfers transfers(machine, bytes);
  found->make(first_gpus(machine, *found, gpus), transfers);
  return std::move(transfers).all();
}

}  // namespace polypath::plan
