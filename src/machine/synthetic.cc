// Random but plausible machines. Only integer arithmetic and single roundings, no distributions of
// the standard library: the same seed gives the same machine on every platform.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "machine/load_machine.h"

namespace polypath::machine {
namespace {

// splitmix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// A whole number from `least` to `most`; the modulo's bias does not matter here.
  int between(int least, int most) {
    return least + static_cast<int>(next() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool coin() { return between(0, 1) == 1; }
  /// Whole GB/s.
  BytesPerSecond rate(int least, int most) { return {between(least, most) * 1e9}; }
  /// Tenths of a microsecond.
  Seconds time(int least, int most) { return {between(least, most) * 1e-7}; }

 private:
  std::uint64_t state_;
};

enum class Family { mesh, ring, nvswitch, pcie_peers, no_peers, islands };
constexpr std::array kFamilies = {
    std::pair{Family::mesh, "direct links between all GPUs"},
    std::pair{Family::ring, "direct links in a ring, no peer access otherwise"},
    std::pair{Family::nvswitch, "a switch between the GPUs"},
    std::pair{Family::pcie_peers, "peer access over PCIe"},
    std::pair{Family::no_peers, "no peer access"},
    std::pair{Family::islands, "two islands of direct links"}};

class Builder {
 public:
  explicit Builder(std::uint64_t seed) : random_(seed) {
    const auto& [family, words] = kFamilies[random_.next() % kFamilies.size()];
    family_ = family;
    gpus_ = random_.between(2, 8);
    hosts_ = random_.between(1, std::min(4, gpus_));
    machine_.name = fmt::format("synthetic:{}", seed);
    machine_.description = fmt::format("Made from seed {}: {} GPUs, {}, {} host memories.", seed,
                                       gpus_, words, hosts_);
  }

  Machine build() {
    add_places();
    add_host_resources();
    add_gpu_resources();
    for (int from = 0; from < gpus_; ++from)
      for (int to = 0; to < gpus_; ++to)
        if (from != to) connect_gpus(from, to);
    for (int gpu = 0; gpu < gpus_; ++gpu)
      for (int host = 0; host < hosts_; ++host) connect_host(gpu, host);
    add_costs();
    std::sort(machine_.hops.begin(), machine_.hops.end(), [](const Hop& a, const Hop& b) {
      return std::pair(a.source, a.destination) < std::pair(b.source, b.destination);
    });
    validate(machine_);
    return std::move(machine_);
  }

 private:
  void add_places();
  void add_host_resources();
  void add_gpu_resources();
  void connect_gpus(int from, int to);
  void connect_link(int from, int to);
  void connect_switch(int from, int to);
  void connect_pcie(int from, int to);
  void connect_staged(int from, int to);
  void connect_host(int gpu, int host);
  void add_costs();
  Use resource(const std::string& name, const char* kind, BytesPerSecond capacity);
  Use engine(const std::string& name);
  void connect(PlaceId from, PlaceId to, HopKind kind, BytesPerSecond wanted,
               std::vector<Use> uses);

  int host_of(int gpu) const { return gpu * hosts_ / gpus_; }
  PlaceId gpu_place(int gpu) const { return {gpu}; }
  PlaceId host_place(int host) const { return {gpus_ + host}; }

  struct Gpu {
    Use in, out, both, h2d, d2h, peer, egress, ingress;
  };
  struct Host {
    Use read, write, total;
    std::vector<Use> to;  // the socket link towards each host, itself included but unused
  };

  // What all links of a kind have in common.
  struct Links {
    BytesPerSecond pcie, direct;
    Seconds peer_latency, host_latency;
  };

  Random random_;
  Family family_;
  int gpus_ = 0;
  int hosts_ = 0;
  Machine machine_;
  std::vector<Gpu> gpu_;
  std::vector<Host> host_;
  Links links_;
  int staged_percent_ = 0;
  bool serial_peers_ = false;
};

Use Builder::resource(const std::string& name, const char* kind, BytesPerSecond capacity) {
  machine_.resources.push_back({name, kind, capacity, 0});
  return {{static_cast<std::int32_t>(machine_.resources.size()) - 1}, 1};
}

Use Builder::engine(const std::string& name) {
  const Use use = resource(name, "engine", BytesPerSecond::infinity());
  machine_.resources.back().copies_at_once = 1;
  return use;
}

void Builder::add_places() {
  const Seconds at_gpu = random_.time(10, 100);
  const Seconds at_host = random_.time(10, 150);
  for (int gpu = 0; gpu < gpus_; ++gpu)
    machine_.places.push_back(
        {fmt::format("gpu{}", gpu), PlaceKind::gpu, "synthetic GPU", host_of(gpu), at_gpu});
  for (int host = 0; host < hosts_; ++host)
    machine_.places.push_back(
        {fmt::format("host{}", host), PlaceKind::host, "synthetic host", host, at_host});
}

void Builder::add_host_resources() {
  const BytesPerSecond memory = random_.rate(20, 300);
  const BytesPerSecond socket = random_.rate(20, 100);
  // Writing is a little slower than reading on many hosts.
  const BytesPerSecond writing = {memory.value * random_.between(70, 100) / 100};
  for (int host = 0; host < hosts_; ++host) {
    const std::string name = fmt::format("host{}", host);
    Host& added = host_.emplace_back();
    added.read = resource(name + ".read", "memory", memory);
    added.write = resource(name + ".write", "memory", writing);
    added.total = resource(name + ".total", "memory", memory);
    for (int other = 0; other < hosts_; ++other)
      added.to.push_back(
          other == host ? Use{}
                        : resource(fmt::format("socket.{}-{}", host, other), "socket", socket));
  }
}

void Builder::add_gpu_resources() {
  links_.pcie = random_.rate(6, 64);
  links_.direct = random_.rate(20, family_ == Family::nvswitch ? 450 : 150);
  const BytesPerSecond both = {links_.pcie.value * random_.between(110, 200) / 100};
  links_.peer_latency = random_.time(10, 60);
  links_.host_latency = random_.time(10, 80);
  staged_percent_ = random_.between(40, 80);
  serial_peers_ = random_.coin();
  for (int gpu = 0; gpu < gpus_; ++gpu) {
    const std::string name = fmt::format("gpu{}", gpu);
    Gpu& added = gpu_.emplace_back();
    added.in = resource(name + ".pcie_in", "pcie", links_.pcie);
    added.out = resource(name + ".pcie_out", "pcie", links_.pcie);
    added.both = resource(name + ".pcie", "pcie", both);
    added.h2d = engine(name + ".h2d_engine");
    added.d2h = engine(name + ".d2h_engine");
    if (serial_peers_) added.peer = engine(name + ".peer_engine");
    if (family_ != Family::nvswitch) continue;
    added.egress = resource(name + ".egress", "port", links_.direct);
    added.ingress = resource(name + ".ingress", "port", links_.direct);
  }
}

// Adds the hop with the bandwidth wanted, or with what its narrowest resource lets one copy have.
void Builder::connect(PlaceId from, PlaceId to, HopKind kind, BytesPerSecond wanted,
                      std::vector<Use> uses) {
  Hop hop{from,   to, kind, kind == HopKind::peer ? links_.peer_latency : links_.host_latency,
          wanted, {}};
  if (kind == HopKind::driver_staged) hop.latency = links_.peer_latency + links_.host_latency;
  for (const Use& use : uses) {
    const double most = machine_.resource(use.resource).capacity.value / use.weight;
    hop.bandwidth.value = std::min(hop.bandwidth.value, most);
  }
  hop.uses = std::move(uses);
  machine_.hops.push_back(std::move(hop));
}

void Builder::connect_gpus(int from, int to) {
  const int distance = (to - from + gpus_) % gpus_;
  const bool neighbours = distance == 1 || distance == gpus_ - 1;
  const bool same_island = (from < (gpus_ + 1) / 2) == (to < (gpus_ + 1) / 2);
  const bool linked = family_ == Family::mesh || (family_ == Family::ring && neighbours) ||
                      (family_ == Family::islands && same_island);
  if (linked) connect_link(from, to);
  else if (family_ == Family::nvswitch) connect_switch(from, to);
  else if (family_ == Family::pcie_peers || (family_ == Family::islands && serial_peers_))
    connect_pcie(from, to);
  else connect_staged(from, to);
}

// One copy engine per linked peer, as on machines whose GPUs are joined directly.
void Builder::connect_link(int from, int to) {
  const BytesPerSecond width = {links_.direct.value * random_.between(1, 2)};
  const Use link = resource(fmt::format("gpu{}-gpu{}.link", from, to), "link", width);
  connect(gpu_place(from), gpu_place(to), HopKind::peer, width, {link});
}

void Builder::connect_switch(int from, int to) {
  std::vector<Use> uses = {gpu_[from].egress, gpu_[to].ingress};
  if (serial_peers_) uses.push_back(gpu_[from].peer);
  connect(gpu_place(from), gpu_place(to), HopKind::peer, links_.direct, std::move(uses));
}

void Builder::connect_pcie(int from, int to) {
  std::vector<Use> uses = {gpu_[from].out, gpu_[from].both, gpu_[to].in, gpu_[to].both};
  if (serial_peers_) uses.push_back(gpu_[from].peer);
  connect(gpu_place(from), gpu_place(to), HopKind::peer, links_.pcie, std::move(uses));
}

// The driver's bounce buffer lies in the source's host memory: written once, read once.
void Builder::connect_staged(int from, int to) {
  const Host& host = host_[host_of(from)];
  std::vector<Use> uses = {gpu_[from].d2h, gpu_[from].out, gpu_[from].both,
                           host.write,     host.read,      {host.total.resource, 2},
                           gpu_[to].in,    gpu_[to].both,  gpu_[to].h2d};
  if (host_of(from) != host_of(to)) uses.push_back(host.to[host_of(to)]);
  connect(gpu_place(from), gpu_place(to), HopKind::driver_staged,
          {links_.pcie.value * staged_percent_ / 100}, std::move(uses));
}

void Builder::connect_host(int gpu, int host) {
  const int near = host_of(gpu);
  std::vector<Use> out = {gpu_[gpu].d2h, gpu_[gpu].out, gpu_[gpu].both, host_[host].write,
                          host_[host].total};
  std::vector<Use> in = {host_[host].read, host_[host].total, gpu_[gpu].in, gpu_[gpu].both,
                         gpu_[gpu].h2d};
  if (near != host) {
    out.push_back(host_[near].to[host]);
    in.push_back(host_[host].to[near]);
  }
  connect(gpu_place(gpu), host_place(host), HopKind::host, links_.pcie, std::move(out));
  connect(host_place(host), gpu_place(gpu), HopKind::host, links_.pcie, std::move(in));
}

void Builder::add_costs() {
  CallCosts& costs = machine_.costs;
  costs.copy = random_.time(10, 40);
  costs.event_record = random_.time(1, 5);
  costs.event_wait = random_.time(5, 30);
  costs.synchronize = random_.time(10, 50);
  costs.graph_launch = random_.time(10, 50);
  costs.graph_launch_node = random_.time(10, 30);
  costs.graph_instantiate = random_.time(50, 300);
  costs.graph_instantiate_node = random_.time(30, 200);
  costs.graph_update_node = random_.time(5, 20);
}

}  // namespace

Machine synthetic_machine(std::uint64_t seed) { return Builder(seed).build(); }

}  // namespace polypath::machine
