#include "standin/facts/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/hash.h"
#include "core/text.h"

namespace polypath::standin {
namespace {

// Facts about a model besides those that the machine's hops give (NVIDIA's datasheets).
struct Model {
  const char* prefix;
  int compute_major, compute_minor;
  unsigned link_version;
};
constexpr std::array<Model, 5> kModels = {{{"V100", 7, 0, 2},
                                           {"A100", 8, 0, 4},
                                           {"RTX 4090", 8, 9, 0},
                                           {"H100", 9, 0, 6},
                                           {"H200", 9, 0, 6}}};

// Each NVLink carries 25 GB/s in each direction, of which copies reach this much.
constexpr BytesPerSecond kLinkRate = 22_GBps;
// The rate that copies reach over PCIe x16, by generation.
constexpr std::array<double, 6> kPcieRates = {0, 4.0e9, 8.0e9, 15e9, 30e9, 60e9};
constexpr std::size_t kMostLinks = 18;

Model model_of(const Place& place) {
  for (const Model& model : kModels)
    if (place.model.starts_with(model.prefix)) return model;
  return {"", 9, 0, 6};
}

// Twice with different seeds: the same in every process.
std::array<unsigned char, 16> uuid_of(const std::string& machine, std::size_t index) {
  std::array<unsigned char, 16> uuid{};
  for (std::size_t half = 0; half < 2; ++half) {
    const std::uint64_t hash =
        Hash(Hash::kUsualSeed + half).add(fmt::format("{}/{}", machine, index)).value();
    for (std::size_t i = 0; i < 8; ++i)
      uuid[8 * half + i] = static_cast<unsigned char>(hash >> (8 * i));
  }
  return uuid;
}

bool uses_kind(const Machine& machine, const Hop& hop, const std::string& kind) {
  return std::any_of(hop.uses.begin(), hop.uses.end(),
                     [&](const Use& use) { return machine.resource(use.resource).kind == kind; });
}

std::size_t links_for(BytesPerSecond rate) {
  const double links = std::round(rate.value / kLinkRate.value);
  return std::clamp<std::size_t>(static_cast<std::size_t>(links), 1, kMostLinks);
}

int pcie_generation_for(BytesPerSecond rate) {
  const auto enough = std::find_if(kPcieRates.begin(), kPcieRates.end(),
                                   [&](double most) { return rate.value <= most; });
  return static_cast<int>(enough == kPcieRates.end() ? 6 : enough - kPcieRates.begin());
}

int pcie_width_for(BytesPerSecond rate) {
  int width = 1;
  while (width < 16 && rate.value > kPcieRates[1] * width / 16) width *= 2;
  return width;
}

// A link belongs to one pair of GPUs. Without any, a port, which all copies out of a GPU share, is
// one for all its NVLinks.
void add_peer(const Machine& machine, Gpu& gpu, std::size_t peer, const Hop& hop) {
  gpu.reaches[peer] = true;
  if (uses_kind(machine, hop, "link")) {
    const std::size_t more = std::min(links_for(hop.bandwidth), kMostLinks - gpu.links.size());
    gpu.links.insert(gpu.links.end(), more, static_cast<int>(peer));
  } else if (uses_kind(machine, hop, "port") && gpu.links.empty()) {
    gpu.links.assign(links_for(hop.bandwidth), kToSwitch);
  }
}

void add_peers(const Machine& machine, const std::vector<PlaceId>& places, Gpu& gpu) {
  std::vector<double> rates;
  for (std::size_t peer = 0; peer < places.size(); ++peer) {
    const auto hop = machine.find_hop(gpu.place, places[peer]);
    rates.push_back(hop ? machine.hop(*hop).bandwidth.value : 0);
    if (hop && machine.hop(*hop).kind == HopKind::peer)
      add_peer(machine, gpu, peer, machine.hop(*hop));
  }
  for (const double rate : rates)
    gpu.performance_ranks.push_back(static_cast<int>(
        std::count_if(rates.begin(), rates.end(), [&](double other) { return other > rate; })));
}

Gpu describe(const Machine& machine, const std::vector<PlaceId>& places, std::size_t index) {
  const Place& place = machine.place(places[index]);
  const Model model = model_of(place);
  Gpu gpu;
  gpu.index = index;
  gpu.place = places[index];
  gpu.name = "NVIDIA " + (place.model.empty() ? "GPU" : place.model);
  gpu.uuid = uuid_of(machine.name, index);
  gpu.bus = 0x1b + 0x0f * static_cast<int>(index);
  gpu.compute_major = model.compute_major;
  gpu.compute_minor = model.compute_minor;
  gpu.reaches.assign(places.size(), false);
  add_peers(machine, places, gpu);
  gpu.link_version = gpu.links.empty() ? 0 : model.link_version;
  const PlaceId host = machine.nearest_host(gpu.place);
  const auto hop = host.valid() ? machine.find_hop(gpu.place, host) : std::nullopt;
  if (hop) gpu.pcie_width = pcie_width_for(machine.hop(*hop).bandwidth);
  gpu.pcie_generation = hop ? pcie_generation_for(machine.hop(*hop).bandwidth) : 0;
  return gpu;
}

// The GPU that an entry names: an ordinal, or the beginning of exactly one UUID.
std::size_t named_gpu(const std::vector<Gpu>& gpus, const std::string& entry) {
  std::size_t ordinal = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), ordinal);
  if (error == std::errc{} && end == entry.data() + entry.size())
    return std::min(ordinal, gpus.size());
  std::size_t found = gpus.size();
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!entry.starts_with("GPU-") || !uuid_text(gpus[i]).starts_with(entry)) continue;
    if (found != gpus.size()) return gpus.size();
    found = i;
  }
  return found;
}

}  // namespace

std::vector<Gpu> gpus_of(const Machine& machine) {
  const std::vector<PlaceId> places = machine.places_of(PlaceKind::gpu);
  std::vector<Gpu> gpus;
  for (std::size_t i = 0; i < places.size(); ++i) gpus.push_back(describe(machine, places, i));
  return gpus;
}

std::string uuid_text(const Gpu& gpu) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < gpu.uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", gpu.uuid[i]);
  }
  return text;
}

std::string bus_id(const Gpu& gpu) { return fmt::format("0000:{:02X}:00.0", gpu.bus); }

std::vector<std::size_t> visible_gpus(const std::vector<Gpu>& gpus, const std::string& visible) {
  std::vector<std::size_t> indices;
  if (visible == "all") {
    for (std::size_t i = 0; i < gpus.size(); ++i) indices.push_back(i);
    return indices;
  }
  for (const std::string& entry : split(visible, ',')) {
    const std::size_t index = named_gpu(gpus, entry);
    if (index == gpus.size()) break;
    if (std::find(indices.begin(), indices.end(), index) != indices.end()) return {};
    indices.push_back(index);
  }
  return indices;
}

}  // namespace polypath::standin
