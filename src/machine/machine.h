#pragma once
// A machine as data: the places that hold bytes, the resources that copies share, the hops that
// connect places, and the costs of driver calls. docs/machines.md describes the file format.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "machine/driver_behaviour.h"

namespace polypath::machine {

/// A machine has at most so many places, of all its nodes.
inline constexpr std::size_t kMostPlaces = 64;

enum class PlaceKind { gpu, host };

/// A memory that can hold bytes.
struct Place {
  std::string name;  ///< "gpu0", "host0"
  PlaceKind kind = PlaceKind::gpu;
  std::string model;  ///< what it is, for people: "H200", "Xeon, DDR4"
  int numa_node = 0;
  /// ε of 001 eq. 2: from the end of a copy into this place until a copy out of it that waits for
  /// it may start.
  Seconds staging_latency;
  /// The same where one GPU makes both copies.
  Seconds relay_latency = staging_latency;
  /// The extra cost of a copy, and of a wait before it, for every other copy of the same GPU that
  /// is under way when it starts: the GPU has to switch between its streams. 0 for hosts.
  Seconds busy_latency = {};
  /// Of a GPU's kernels that reduce: from ready to the first byte, and bytes of an operand per
  /// second. The defaults are nominal: a launch, and an H200's 4.8 TB/s for two reads and a write.
  Seconds reduction_latency = 3_us;
  BytesPerSecond reduction_bandwidth = 1600_GBps;
  /// The place was calibrated without finding its staging latency: the nominal one stands here, and
  /// no plan rests on it. Not so on a machine that was never calibrated.
  bool staging_missing = false;
  /// Which of the computers it is in that the machine is made of (machine/nodes.h).
  int node = 0;
};

/// The additional bytes that a resource carries after a rest, as a host memory does whose cache
/// takes in writes: so many bytes at a higher rate, less the bytes that flow off at the capacity
/// meanwhile (model/burst_credit.h has the equation).
struct Burst {
  BytesPerSecond rate;
  Bytes size;  ///< 0: there is no burst
};

/// Something that copies share.
struct Resource {
  std::string name;  ///< "gpu0.egress"
  std::string kind;  ///< "port", "link", "pcie", "memory", "socket", "engine": for people
  /// Total rate of all copies that use it; infinite for an engine.
  BytesPerSecond capacity = BytesPerSecond::infinity();
  /// How many copies it works on at a time, the others waiting in order of readiness; 0 = any.
  int copies_at_once = 0;
  Burst burst = {};

  /// As bytes per second, with the burst; an engine's are infinite.
  [[nodiscard]] Capacity rate_limit() const {
    Capacity limit(capacity);
    if (burst.size.value > 0) limit.burst = burst.rate.value, limit.credit = burst.size.real();
    return limit;
  }
};

/// A hop's claim on a resource: a copy at rate x takes weight·x of its capacity.
struct Use {
  ResourceId resource;
  double weight = 1;
};

enum class HopKind {
  peer,           ///< between two GPUs by peer access
  host,           ///< between a GPU and a host memory
  driver_staged,  ///< between two GPUs without peer access: the driver goes through the host
  /// Between two nodes, from host to host, or from GPU to GPU where the adapters reach both.
  network,
  /// Between GPUs of two nodes whose adapters do not reach them: a copy out to a host, one over the
  /// network, and one in (network_path). Its numbers are those of all three one after another.
  network_staged,
};

/// One copy by a GPU's own engines; paths and kernels can use it.
constexpr bool is_by_gpu(HopKind kind) { return kind == HopKind::peer || kind == HopKind::host; }

/// One copy between two places: α + bytes/β when alone (001 eq. 1).
struct Hop {
  PlaceId source;
  PlaceId destination;
  HopKind kind = HopKind::peer;
  Seconds latency;           ///< α: from ready to the first byte, spent by every copy
  BytesPerSecond bandwidth;  ///< β: of one copy with the machine to itself
  std::vector<Use> uses;
};

/// The costs of driver calls to the calling thread, and of graphs to the device.
struct CallCosts {
  Seconds copy;                    ///< enqueue one copy
  Seconds event_record;            ///< record an event
  Seconds event_wait;              ///< make a stream wait for an event
  Seconds synchronize;             ///< from completion until a waiting thread runs again
  Seconds graph_launch;            ///< g0: launch of a graph, without its nodes
  Seconds graph_launch_node;       ///< g1: added per node
  Seconds graph_instantiate;       ///< instantiate, without its nodes
  Seconds graph_instantiate_node;  ///< added per node
  Seconds graph_update_node;       ///< new parameters for one node of an executable graph
  /// The extra cost of each call that enqueues, launches or waits while another thread of the
  /// process makes such calls, too. 0 where nothing was found.
  Seconds threads_hold_up = {};
};

/// The cost of calls while another thread of the process makes calls, too.
CallCosts held_up(CallCosts costs);

/// A memory that a node's adapters read and write, and the resources that such a copy uses there,
/// the adapter included.
struct NetworkEnd {
  PlaceId place;
  std::vector<Use> out;
  std::vector<Use> in;
};

/// How a node is joined to others like it (machine/nodes.h). No machine of several nodes has it.
struct Network {
  Seconds latency;           ///< α of a copy from one node's memory to another's
  BytesPerSecond bandwidth;  ///< β of one alone
  std::vector<NetworkEnd> ends;
};

/// The machine. Every number came from a file that says where it was taken from.
struct Machine {
  std::string name;
  std::string description;
  std::vector<Place> places;
  std::vector<Resource> resources;
  std::vector<Hop> hops;
  CallCosts costs;
  DriverBehaviour driver = {};
  std::optional<Network> network = std::nullopt;

  /// How many computers it is made of; their places are in order.
  [[nodiscard]] int nodes() const { return places.empty() ? 1 : places.back().node + 1; }
  [[nodiscard]] const Place& place(PlaceId id) const { return places[id.index()]; }
  [[nodiscard]] const Resource& resource(ResourceId id) const { return resources[id.index()]; }
  [[nodiscard]] const Hop& hop(HopId id) const { return hops[id.index()]; }

  /// The place called `name`; "host", where there is no other end, is the first host place. Error
  /// (invalid_argument) lists the places there are.
  [[nodiscard]] PlaceId find_place(std::string_view name) const;
  /// The ends of a copy by name; "host" is host_for the other one. Errors as find_place.
  [[nodiscard]] std::pair<PlaceId, PlaceId> find_ends(std::string_view source,
                                                      std::string_view destination) const;
  /// The place that "host" means for a copy from `source` to `destination`, one of which may be
  /// invalid: the host nearest to the GPU that sends, else to the one that receives; the first
  /// where neither end is a GPU; invalid if there is none.
  [[nodiscard]] PlaceId host_for(PlaceId source, PlaceId destination) const;
  /// The hop from `source` to `destination`, if there is one.
  [[nodiscard]] std::optional<HopId> find_hop(PlaceId source, PlaceId destination) const;
  /// The host place in the same NUMA node as `place`, else the first one of its node; invalid if
  /// none.
  [[nodiscard]] PlaceId nearest_host(PlaceId place) const;
  /// The GPU whose copy engine does the hop's copies: the source if it is one, unless another GPU
  /// pulls; else the destination. From host to host, whose copies wait for work of GPUs: the
  /// source's nearest GPU.
  [[nodiscard]] PlaceId executing_gpu(HopId hop) const;
  /// ε of a path over these two hops: the staging place's, by whether one GPU makes both copies.
  [[nodiscard]] Seconds staging(HopId first, HopId second) const;
  /// The time that a GPU takes to make so many bytes of as many of each of the operands, all in its
  /// memory: in proportion to the bytes that it reads and writes, of two operands three times the
  /// result's.
  [[nodiscard]] Seconds reduction_time(PlaceId gpu, Bytes bytes, std::size_t operands = 2) const;
  /// The latency of a copy that waits for one over `earlier`, if `gpu` makes it.
  [[nodiscard]] Seconds wait_latency(HopId earlier, PlaceId gpu) const;
  /// The same if the earlier one is a kernel of a GPU.
  [[nodiscard]] Seconds wait_latency(PlaceId kernels, PlaceId gpu) const;
  /// Names of the places whose staging latency calibration did not find.
  [[nodiscard]] std::vector<std::string> places_without_staging() const;
  /// Ids of all places of one kind, in order.
  [[nodiscard]] std::vector<PlaceId> places_of(PlaceKind kind) const;
};

/// The machine as a thread sees it while another one of its process makes calls, too.
Machine held_up(Machine machine);

/// "gpu0 -> gpu1"; "local" for a copy that takes no hop.
std::string hop_name(const Machine& machine, HopId hop);

/// Checks what the other layers rely on: unique names, ids in range, positive finite numbers, at
/// most one hop per ordered pair, no hop to itself. Error (invalid_machine) names the culprit.
void validate(const Machine& machine);

}  // namespace polypath::machine
