#pragma once
// The simulated driver: the Driver interface over a machine description, in virtual time and with
// real bytes. Every call costs the host clock what the machine says; copies share resources as in
// fluid.h. It also checks (violations()): races, memory freed while in use, waiting for an event
// that was never recorded; and resources not given back (leaks()). Synchronising with work that
// waits for a flag which nothing in the driver will write is an error (driver).
//
// Real threads share one virtual CPU thread unless use_host_thread says otherwise. Allocating,
// creating and destroying cost no time.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "driver/sim/faults.h"
#include "driver/sim/flags.h"
#include "driver/sim/memory.h"
#include "driver/sim/order_log.h"
#include "driver/sim/race_detector.h"
#include "model/fluid.h"

namespace polypath::sim {

/// For tests: of the copies and reductions that move bytes, one whose result has its first bytes
/// inverted, up to eight.
struct Flip {
  int at = 0;    ///< its number, from 1; 0: none
  int done = 0;  ///< so many have been made, in the order in which they were over
};

struct Options {
  bool move_bytes = true;   ///< false: timing only, memory cannot be touched
  bool check_races = true;  ///< find unordered accesses
  bool record_trace = false;
  Flip* flip = nullptr;  ///< outlives the driver
};

/// For callers that need only times.
inline constexpr Options kTimingOnly{.move_bytes = false, .check_races = false};

/// One finished copy, reduction or kernel.
struct Span {
  CopyLabel label;
  HopId hop;        ///< invalid within one place, and of a reduction or kernel
  Bytes bytes;      ///< of a kernel, all that it uses
  Seconds ready;    ///< all it waited for had finished
  Seconds started;  ///< its engines were free
  Seconds finished;
  PlaceId gpu = {};  ///< of a reduction or kernel
};

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

  [[nodiscard]] const Machine& machine() const { return machine_; }
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

  static constexpr std::size_t kMostViolations = 100;

 private:
  struct Stream {
    PlaceId gpu;
    ActivityPointer tail;
    std::size_t thread = 0;
    bool waited = false;  ///< since the last copy
  };
  struct Event {
    PlaceId gpu;
    bool recorded = false;
    ActivityPointer activity;
    MomentPointer moment;
    Seconds at;  ///< when it was recorded
  };
  struct LoadedKernel {
    PlaceId gpu;
    std::string name;
    std::size_t parameters = 0;                  ///< as Kernel::parameters
    std::shared_ptr<const HostKernel> function;  ///< kept by queued work
    std::shared_ptr<const HostKernel> after_exchange;
  };
  struct Graph;
  struct AwaitedFlag {
    MomentPointer end;  ///< of the wait: told when it ends
    std::shared_ptr<FlagWait> wait;
  };
  /// Where one lap of a kernel that meets others stands in the order of things.
  struct LapOrder {
    std::uint32_t number = 0;
    std::vector<MomentPointer> rung = {};  ///< by rank, but for its own
    std::vector<AwaitedFlag> heard = {};   ///< the same
  };
  using GroupOrder = std::vector<LapOrder>;
  /// An access to memory, as the race detector wants it.
  struct Touch {
    Region region;
    bool writes = false;
  };

  Stream& stream_of(StreamHandle handle);
  Event& event_of(EventHandle handle);
  [[nodiscard]] static std::optional<Seconds> time_of(const Event& event);
  Graph& graph_of(GraphHandle handle);
  GraphNode& node_of(Graph& graph, int number);
  [[nodiscard]] const LoadedKernel& kernel_of(KernelHandle handle) const;
  void spend(Seconds cost) { host() += cost; }
  [[nodiscard]] Seconds& host() { return host_clocks_[host_thread_][issuer_]; }
  [[nodiscard]] Seconds host() const { return host_clocks_[host_thread_][issuer_]; }
  // The functions below are called by the thread of the GPU's node.
  void issue_at(PlaceId gpu) {
    issuer_ = gpu.valid() ? static_cast<std::size_t>(machine_.place(gpu).node) : 0;
  }
  // The threads of all nodes are where the last one is.
  Seconds meet_nodes();
  void count(Call call) { faults_.count(call); }
  void report(const std::string& violation);
  void check_place(PlaceId place) const;
  void check_gpu(PlaceId place) const;
  void check_copy(const CopyRequest& request) const;
  [[nodiscard]] HopId hop_of(const CopyRequest& request) const;
  [[nodiscard]] std::optional<MemoryInfo> memory_at(Address address) const;
  void check_reduction(const CopyRequest& request, const Reduction& reduction) const;
  void check_kernel(const KernelRequest& request) const;
  [[nodiscard]] std::vector<Traffic> traffic_of(const KernelRequest& request) const;
  void check_node(const GraphNode& node) const;
  void check_flag(Address address, PlaceId place) const;
  [[nodiscard]] FlagRequest flag_request(StreamHandle stream, Address address, PlaceId place,
                                         std::uint32_t value);
  MomentPointer note_write(std::size_t thread);
  AwaitedFlag note_wait(std::size_t thread);
  /// Activities that wait for it go on later by `latency`.
  ActivityPointer make_write(const FlagRequest& request, const MomentPointer& writer,
                             Seconds latency);
  ActivityPointer make_wait(const FlagRequest& request, const AwaitedFlag& awaited);
  void check_group(const KernelRequest& request) const;
  [[nodiscard]] FlagRequest bell(const KernelRequest& request, int at, int from,
                                 std::uint32_t number) const;
  GroupOrder note_group(const KernelRequest& request, std::size_t thread);
  LapOrder note_lap(const KernelRequest& request, std::size_t thread);
  /// Says whether it is, each time that it is asked.
  std::function<bool()> abandoned(Address mailbox);
  static Address own_mailbox(const KernelRequest& request);
  ActivityPointer make_bell_wait(const FlagRequest& bell, Address mailbox,
                                 const AwaitedFlag& awaited);
  void abandon_mailbox(Address word, const BlockPointer& block, Seconds latency);
  std::vector<ActivityPointer> make_group(const KernelRequest& request, const GroupOrder& order);
  void add_lap(const KernelRequest& request, const GroupOrder& order, std::size_t lap,
               std::vector<ActivityPointer>& made);
  [[nodiscard]] std::function<void(const Activity&)> on_memory(
      const KernelRequest& request, std::shared_ptr<const HostKernel> function,
      std::size_t lap = 0);
  void play_until(const Activity& activity, const char* what, std::uintptr_t handle);
  /// Error (invalid_argument) if the stream belongs to another GPU than the working one.
  void check_stream(const Stream& stream, StreamHandle handle, PlaceId gpu, const char* what) const;
  void enqueue_copy(const CopyRequest& request, Stream& stream);
  void enqueue(const CopyRequest& request, HopId hop, const std::optional<Reduction>& reduction,
               Stream& stream);
  void append(const ActivityPointer& activity, Stream& stream);
  void copy_pageable(const CopyRequest& request, const MemoryInfo& to, const MemoryInfo& from,
                     Stream& stream);
  ActivityPointer make_activity(const CopyRequest& request, HopId hop,
                                const std::optional<Reduction>& reduction);
  ActivityPointer make_activity(const KernelRequest& request);
  void move_bytes(const CopyRequest& request, const std::optional<Reduction>& reduction,
                  const Block& to, const Block& from) const;
  void note_finished(const CopyLabel& label, const Activity& done);
  /// One more step of the thread, and what it reads and writes.
  void step(const CopyRequest& request, std::size_t thread);
  void step(const KernelRequest& request, std::size_t thread);
  void step(std::size_t thread, std::vector<Touch> touches, std::string what);
  [[nodiscard]] Touch touch(Address begin, Bytes bytes, bool writes) const;
  [[nodiscard]] std::byte* bytes_at(Address address) const;
  ActivityPointer make_marker() const;
  [[nodiscard]] Seconds crossing_delay(const ActivityPointer& earlier, PlaceId gpu) const;
  struct NodeOrder;
  [[nodiscard]] PlaceId gpu_of(const Activity& work) const;
  [[nodiscard]] PlaceId node_gpu(const Graph& graph, std::size_t index) const;
  ActivityPointer launch_node(Graph& graph, std::size_t index,
                              const std::vector<ActivityPointer>& done,
                              const ActivityPointer& start, const NodeOrder& order);
  ActivityPointer begin_node(const Graph& graph, std::size_t index, const NodeOrder& order);
  ActivityPointer end_node(const GraphNode& node, const ActivityPointer& begun,
                           const NodeOrder& order);
  void join_graph(Graph& graph, Stream& stream, const std::vector<ActivityPointer>& done);
  std::vector<NodeOrder> note_graph(Graph& graph, Stream& stream);
  NodeOrder note_node(const GraphNode& node, std::size_t thread);

  Machine machine_;
  CallCosts costs_;  ///< the machine's, or with what threads hold each other up
  Options options_;
  mutable std::mutex mutex_;
  HopRates rates_;
  Fluid fluid_;
  using NodeClocks = std::vector<Seconds>;  ///< one thread per node
  std::vector<NodeClocks> host_clocks_;
  std::size_t host_thread_ = 0;
  std::size_t issuer_ = 0;  ///< the node whose thread calls
  Memory memory_;
  std::map<std::uintptr_t, Bytes> pageable_;  ///< by address
  RaceDetector races_;
  OrderLog order_{races_};
  Flags flags_;
  std::map<Address, std::uint32_t> groups_;  ///< so far, by mailbox
  std::map<Address, int> imports_;
  Faults faults_;
  std::map<StreamHandle, Stream> streams_;
  Stream signals_;  ///< of the threads
  std::map<EventHandle, Event> events_;
  std::map<GraphHandle, std::unique_ptr<Graph>> graphs_;
  std::map<KernelHandle, LoadedKernel> kernels_;
  std::uintptr_t next_handle_ = 1;
  std::vector<std::string> violations_;
  std::vector<Span> trace_;
};

}  // namespace polypath::sim
