#include "probe/discover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/error.h"
#include "machine/load_machine.h"

namespace polypath::probe {
namespace {

constexpr double kLinkEfficiency = 0.87;
constexpr double kPcieEfficiency = 0.85;
constexpr double kPcieDuplex = 1.7;
// Of the rate of a GPU's link: at least what two GPUs read or write together. Computers with four
// H100s or H200s read 3.0 to 3.9 times as much, write 2.5 to 3.1 and do both 3.1 to 5.3
// (results/h200x4/machine.json, results/h100x4/machine.json, machine_without_peer_access.json).
constexpr double kHostRead = 2, kHostWrite = 2, kHostTotal = 2.25;
constexpr double kDriverStaged = 0.68;  // 37.7 of 55.1 GB/s was measured
constexpr Seconds kLatency = 3.3_us;
constexpr Seconds kDriverStagedLatency = 13.3_us;

// Per lane and direction, encoding taken off (PCI-SIG).
BytesPerSecond lane_rate(int generation) {
  switch (generation) {
    case 1: return 0.25_GBps;
    case 2: return 0.5_GBps;
    case 3: return 0.985_GBps;
    case 4: return 1.969_GBps;
    case 6: return 7.56_GBps;
    default: return 3.938_GBps;
  }
}

// The time that H200s need to switch between streams (results/h200x4/machine.json); others are not
// faster.
constexpr Seconds kBusyLatency = 4_us;

BytesPerSecond pcie_rate(const GpuFacts& gpu) {
  const int generation = gpu.pcie_generation == 0 ? 3 : gpu.pcie_generation;
  const int width = gpu.pcie_width == 0 ? 16 : gpu.pcie_width;
  return {lane_rate(generation).value * width * kPcieEfficiency};
}

std::string machine_name(const Computer& computer) {
  std::string name;
  for (const char letter : computer.gpus.front().model) {
    const auto c = static_cast<unsigned char>(letter);
    name += std::isalnum(c) != 0 ? static_cast<char>(std::tolower(c)) : '-';
  }
  return fmt::format("{}-x{}", name, computer.gpus.size());
}

class Builder {
 public:
  explicit Builder(const Computer& computer) : computer_(computer) {
    machine_.name = machine_name(computer);
    machine_.description = fmt::format("{} x {}, driver {}, as found{}", computer.gpus.size(),
                                       computer.gpus.front().model, computer.driver, kNotMeasured);
    const Machine measured = load_machine("h200x4");
    machine_.costs = measured.costs;
    machine_.driver = measured.driver;
    if (computer.gpus.size() == 2) use_mail_of_two();
    staging_ = measured.places.front().staging_latency;
  }

  Machine build() {
    add_places();
    for (std::size_t g = 0; g < computer_.gpus.size(); ++g) add_gpu_resources(g);
    for (const PlaceId host : machine_.places_of(PlaceKind::host)) add_host_resources(host);
    for (std::size_t a = 0; a < computer_.gpus.size(); ++a) {
      for (std::size_t b = 0; b < computer_.gpus.size(); ++b)
        if (a != b) add_gpu_hop(a, b);
      add_host_hops(a);
    }
    validate(machine_);
    return std::move(machine_);
  }

 private:
  // Of two GPUs, kernels that exchange messages take what a machine has that does not say it
  // (machine/driver_behaviour.h); h200x4.json has what they take of four.
  void use_mail_of_two() {
    const DriverBehaviour two;
    machine_.driver.mail_latency = two.mail_latency;
    machine_.driver.mail_efficiency = two.mail_efficiency;
    machine_.driver.parcel_latency = two.parcel_latency;
    machine_.driver.parcel_efficiency = two.parcel_efficiency;
  }

  void add_places() {
    std::vector<int> nodes;
    for (std::size_t g = 0; g < computer_.gpus.size(); ++g) {
      const GpuFacts& gpu = computer_.gpus[g];
      machine_.places.push_back(
          {fmt::format("gpu{}", g), PlaceKind::gpu, gpu.model, gpu.numa_node, staging_});
      machine_.places.back().busy_latency = kBusyLatency;
      if (std::find(nodes.begin(), nodes.end(), gpu.numa_node) == nodes.end())
        nodes.push_back(gpu.numa_node);
    }
    std::sort(nodes.begin(), nodes.end());
    for (std::size_t h = 0; h < nodes.size(); ++h)
      machine_.places.push_back(
          {fmt::format("host{}", h), PlaceKind::host, computer_.processor, nodes[h], staging_});
  }

  ResourceId add(const std::string& name, const char* kind, BytesPerSecond capacity) {
    machine_.resources.push_back({name, kind, capacity, 0});
    return {static_cast<std::int32_t>(machine_.resources.size() - 1)};
  }

  ResourceId add_engine(const std::string& name) {
    machine_.resources.push_back({name, "engine", BytesPerSecond::infinity(), 1});
    return {static_cast<std::int32_t>(machine_.resources.size() - 1)};
  }

  [[nodiscard]] ResourceId find(const std::string& name) const {
    for (std::size_t r = 0; r < machine_.resources.size(); ++r)
      if (machine_.resources[r].name == name) return {static_cast<std::int32_t>(r)};
    fail(ErrorCode::internal, "there is no resource " + name, "the builder adds it first");
  }

  void add_gpu_resources(std::size_t g) {
    const GpuFacts& gpu = computer_.gpus[g];
    const std::string name = fmt::format("gpu{}", g);
    if (gpu.links_to_switch > 0) {
      const BytesPerSecond port{gpu.link_rate.value * gpu.links_to_switch * kLinkEfficiency};
      add(name + ".egress", "port", port);
      add(name + ".ingress", "port", port);
    }
    add_engine(name + ".peer_engine");
    add_engine(name + ".h2d_engine");
    add_engine(name + ".d2h_engine");
    const BytesPerSecond rate = pcie_rate(gpu);
    add(name + ".pcie_in", "pcie", rate);
    add(name + ".pcie_out", "pcie", rate);
    add(name + ".pcie", "pcie", {rate.value * kPcieDuplex});
  }

  void add_host_resources(PlaceId host) {
    const BytesPerSecond link = pcie_rate(computer_.gpus.front());
    const std::string& name = machine_.place(host).name;
    add(name + ".read", "memory", {link.value * kHostRead});
    add(name + ".write", "memory", {link.value * kHostWrite});
    add(name + ".total", "memory", {link.value * kHostTotal});
  }

  void add_hop(PlaceId from, PlaceId to, HopKind kind, Seconds latency, BytesPerSecond rate,
               const std::vector<std::string>& resources) {
    Hop hop{from, to, kind, latency, rate, {}};
    for (const std::string& name : resources) hop.uses.push_back({find(name), 1});
    machine_.hops.push_back(std::move(hop));
  }

  void add_gpu_hop(std::size_t a, std::size_t b) {
    const GpuFacts& from = computer_.gpus[a];
    const PlaceId source{static_cast<std::int32_t>(a)}, destination{static_cast<std::int32_t>(b)};
    const std::string& x = machine_.place(source).name;
    const std::string& y = machine_.place(destination).name;
    const int direct = b < from.links_to.size() ? from.links_to[b] : 0;
    if (!from.reaches[b]) return add_driver_staged_hop(source, destination);
    if (direct > 0) {
      const BytesPerSecond rate{from.link_rate.value * direct * kLinkEfficiency};
      const std::string link = fmt::format("{}-{}.link", x, y);
      add(link, "link", rate);
      return add_hop(source, destination, HopKind::peer, kLatency, rate, {link});
    }
    if (from.links_to_switch > 0 && computer_.gpus[b].links_to_switch > 0) {
      const BytesPerSecond rate = machine_.resource(find(x + ".egress")).capacity;
      return add_hop(source, destination, HopKind::peer, kLatency, rate,
                     {x + ".peer_engine", x + ".egress", y + ".ingress"});
    }
    const BytesPerSecond rate{std::min(pcie_rate(from).value, pcie_rate(computer_.gpus[b]).value)};
    add_hop(source, destination, HopKind::peer, kLatency, rate,
            {x + ".peer_engine", x + ".pcie_out", x + ".pcie", y + ".pcie_in", y + ".pcie"});
  }

  void add_driver_staged_hop(PlaceId from, PlaceId to) {
    const BytesPerSecond rate{std::min(pcie_rate(computer_.gpus[from.index()]).value,
                                       pcie_rate(computer_.gpus[to.index()]).value) *
                              kDriverStaged};
    const std::string& x = machine_.place(from).name;
    const std::string& y = machine_.place(to).name;
    const std::string& host = machine_.place(machine_.nearest_host(from)).name;
    add_hop(from, to, HopKind::driver_staged, kDriverStagedLatency, rate,
            {x + ".d2h_engine", x + ".pcie_out", x + ".pcie", host + ".write", host + ".read",
             y + ".pcie_in", y + ".pcie", y + ".h2d_engine"});
    machine_.hops.back().uses.push_back({find(host + ".total"), 2});
  }

  void add_host_hops(std::size_t g) {
    const PlaceId gpu{static_cast<std::int32_t>(g)};
    const std::string& x = machine_.place(gpu).name;
    const BytesPerSecond rate = pcie_rate(computer_.gpus[g]);
    for (const PlaceId host : machine_.places_of(PlaceKind::host)) {
      const std::string& h = machine_.place(host).name;
      add_hop(gpu, host, HopKind::host, kLatency, rate,
              {x + ".d2h_engine", x + ".pcie_out", x + ".pcie", h + ".write", h + ".total"});
      add_hop(host, gpu, HopKind::host, kLatency, rate,
              {h + ".read", h + ".total", x + ".pcie_in", x + ".pcie", x + ".h2d_engine"});
    }
  }

  const Computer& computer_;
  Machine machine_;
  Seconds staging_;
};

}  // namespace

Machine machine_of(const Computer& computer) {
  if (!computer.problem.empty() || computer.gpus.empty())
    fail(ErrorCode::unsupported, "this computer has no GPUs to use", computer.problem,
         "Name a machine to simulate with --machine.");
  return Builder(computer).build();
}

}  // namespace polypath::probe
