#pragma once
// The simulated driver: the Driver interface over a machine description, in virtual time and with
// real bytes. Every call costs the host clock what the machine says; copies share resources as in
// fluid.h. It also checks (violations()): races, memory freed while in use, waiting for an event
// that was never recorded; and resources not given back (leaks()). Synchronising with work that
// waits for a flag which nothing in the driver will write is an error (driver).
//
// Real threads share one virtual CPU thread unless use_host_thread says otherwise. Allocating,
// creating and destroying cost no time.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "driver/sim/mailboxes.h"
#include "driver/sim/options.h"
#include "driver/sim/sim_copies.h"
#include "driver/sim/sim_events.h"
#include "driver/sim/sim_flag.h"
#include "driver/sim/sim_graph.h"
#include "driver/sim/sim_kernel.h"
#include "driver/sim/sim_kernel_group.h"
#include "driver/sim/sim_kernel_run.h"
#include "driver/sim/sim_memory.h"
#include "driver/sim/sim_sharing.h"
#include "driver/sim/sim_streams.h"
#include "driver/sim/simulation.h"

namespace polypath::sim {

/// Each part of the interface is a class of its own; this one holds the lock and forwards to them.
class SimDriver final : public Driver {
 public:
  explicit SimDriver(Machine machine, Options options = {});
  ~SimDriver() override;

  std::string name() const override { return "sim"; }
  std::string simulation() const override;
  Seconds now() override;
  Address allocate(PlaceId place, Bytes bytes) override;
  Address allocate_zeros(PlaceId place, Bytes bytes) override;
  void free(Address address) override;
  std::optional<MemoryInfo> find_memory(Address address) override;
  std::uint64_t memory_id(Address address) override;
  StreamHandle create_stream(PlaceId gpu) override;
  void destroy_stream(StreamHandle stream) override;
  StreamHandle foreign_stream(PlaceId gpu, std::uintptr_t stream) override;
  bool is_capturing(StreamHandle stream) override;
  EventHandle create_event(PlaceId gpu) override;
  void destroy_event(EventHandle event) override;
  void record(EventHandle event, StreamHandle stream) override;
  void wait(StreamHandle stream, EventHandle event) override;
  bool is_done(EventHandle event) override;
  EventHandle create_timing_event(PlaceId gpu) override { return create_event(gpu); }
  std::optional<Seconds> elapsed(EventHandle begin, EventHandle end) override;
  void copy(const CopyRequest& request, StreamHandle stream) override;
  Seconds copy_by_threads(const std::vector<Enqueued>& copies) override;
  void reduce(const CopyRequest& request, const Reduction& reduction, StreamHandle stream) override;
  void copy_native(const NativeCopy& request, StreamHandle stream) override;
  KernelHandle load_kernel(PlaceId gpu, const Kernel& kernel) override;
  void unload_kernel(KernelHandle kernel) override;
  bool kernels_reach(PlaceId gpu, Address address) override;
  void run(const KernelRequest& request, StreamHandle stream) override;
  void write_value(StreamHandle stream, Address address, PlaceId place,
                   std::uint32_t value) override;
  void wait_value(StreamHandle stream, Address address, PlaceId place,
                  std::uint32_t value) override;
  void signal(Address address, PlaceId place, std::uint32_t value) override;
  ExportedMemory export_memory(Address address) override;
  Address import_memory(const ExportedMemory& memory, PlaceId gpu) override;
  void release_import(Address address) override;
  GraphHandle instantiate(const std::vector<GraphNode>& nodes) override;
  void update_node(GraphHandle graph, int node, Address destination, Address source) override;
  void update_kernel(GraphHandle graph, int node, const std::vector<Address>& memory) override;
  void launch(GraphHandle graph, StreamHandle stream) override;
  void destroy_graph(GraphHandle graph) override;
  void synchronize(StreamHandle stream) override;
  void synchronize(EventHandle event) override;

  [[nodiscard]] const Machine& machine() const { return simulation_.machine; }
  /// Declares memory of the program that did not come from allocate: the driver takes it for
  /// pageable memory of the first host. It must stay until remove_pageable.
  void add_pageable(Address address, Bytes bytes);
  void remove_pageable(Address address);
  /// Memory that was made elsewhere becomes an allocation of `place`, until it is freed.
  Address adopt(PlaceId place, Bytes bytes, std::unique_ptr<Backing> backing);
  /// Enqueues the filling of `bytes` bytes, a multiple of the pattern's length, with the pattern
  /// again and again. It takes no time. Errors as of copy.
  void fill(Address destination, Bytes bytes, const std::vector<std::byte>& pattern,
            StreamHandle stream);
  /// The calling thread does something else for that long.
  void pass_time(Seconds duration);
  /// When what the event stands for had finished; nothing if it has not, or there is nothing.
  [[nodiscard]] std::optional<Seconds> finished_at(EventHandle event);
  /// The violations found so far, at most kMostViolations messages.
  [[nodiscard]] std::vector<std::string> violations() const;
  /// Resources that exist now and were not given back: "3 streams", "16777216 bytes at gpu0", ...
  [[nodiscard]] std::vector<std::string> leaks() const;
  /// Copies finished so far, if options.record_trace; plays all queued work first.
  std::vector<Span> trace();
  /// The same without playing anything.
  [[nodiscard]] std::vector<Span> finished_copies() const;
  /// Calls from now on are made by this virtual CPU thread (0 at first), which has its own clock:
  /// as if that many ranks ran beside each other. Whichever real thread makes them.
  void use_host_thread(std::size_t thread);
  /// All virtual CPU threads meet: their clocks go on from the latest.
  void align_host_threads();
  /// From now on several virtual CPU threads of one process call at the same time, or no longer:
  /// they hold each other up (CallCosts::threads_hold_up). At first they do not, as ranks that are
  /// processes do not.
  void hold_up_threads(bool several);
  void fail_nth(Call call, int nth);
  void fail_from(Call call, int nth);
  void clear_faults();
  [[nodiscard]] int uses(Call call) const;
  /// As those of Faults.
  void watch_sites();
  [[nodiscard]] std::vector<int> uses_by_site(Call call, int before) const;

  static constexpr std::size_t kMostViolations = Findings::kMostViolations;

 private:
  mutable std::mutex mutex_;
  Simulation simulation_;
  Mailboxes mailboxes_{simulation_};
  SimMemory memory_{simulation_, mailboxes_};
  SimSharing sharing_{simulation_, memory_};
  SimStreams streams_{simulation_};
  SimEvents events_{simulation_, streams_};
  SimCopies copies_{simulation_, memory_, streams_};
  SimFlags flags_{simulation_, memory_, streams_, mailboxes_};
  SimKernels kernels_{simulation_, memory_};
  SimKernelGroups groups_{simulation_, memory_, kernels_, flags_, mailboxes_};
  SimKernelRuns runs_{simulation_, memory_, streams_, kernels_, groups_};
  SimGraphs graphs_{simulation_, {streams_, copies_, runs_, groups_, flags_}};
};

}  // namespace polypath::sim
