#pragma once
// The interface to a GPU driver, with all that Polypath needs of it. driver/sim implements it in
// virtual time; the engine and everything above it know nothing else.
//
// Every call that can fail throws Error with code driver, out_of_memory or invalid_argument. All
// calls may be made from any thread. Work is ordered by streams and events only.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "model/kernel.h"
#include "model/reduction.h"

namespace polypath::driver {

/// An address in any of the machine's memories, as the driver's user sees it.
struct Address {
  std::uintptr_t value = 0;
  constexpr auto operator<=>(const Address&) const = default;
};
constexpr Address operator+(Address base, Bytes offset) { return {base.value + offset.value}; }

/// Handles are opaque numbers; zero is none (for streams: the driver's default stream).
struct StreamHandle {
  std::uintptr_t value = 0;
  constexpr auto operator<=>(const StreamHandle&) const = default;
};
struct EventHandle {
  std::uintptr_t value = 0;
  constexpr auto operator<=>(const EventHandle&) const = default;
};
struct GraphHandle {
  std::uintptr_t value = 0;
  constexpr auto operator<=>(const GraphHandle&) const = default;
};

struct KernelHandle {
  std::uintptr_t value = 0;
  constexpr auto operator<=>(const KernelHandle&) const = default;
};

/// Which part of which transfer a copy is, for traces and reports; -1 and 0 where it is none.
struct CopyLabel {
  std::uint64_t transfer = 0;
  int path = -1;
  int chunk = -1;
};

/// One asynchronous copy.
struct CopyRequest {
  Address destination;
  PlaceId destination_place;
  Address source;
  PlaceId source_place;
  Bytes bytes;
  CopyLabel label = {};
  bool pulled = false;  ///< between GPUs: by the destination's, whose stream it is in
};

/// The same between memories of any kind, as the driver's user would copy them.
struct NativeCopy {
  Address destination;
  Address source;
  Bytes bytes;
  CopyLabel label = {};
  /// Where they are, as far as the caller knows: GPUs are then let reach each other's memory.
  PlaceId destination_place = {};
  PlaceId source_place = {};
};

/// The same copy between places that are known.
inline CopyRequest with_places(const NativeCopy& copy, PlaceId destination, PlaceId source) {
  return {.destination = copy.destination,
          .destination_place = destination,
          .source = copy.source,
          .source_place = source,
          .bytes = copy.bytes,
          .label = copy.label};
}

/// A piece of memory that a kernel uses.
struct KernelMemory {
  Address address;
  PlaceId place;
  Bytes bytes;
  bool writes = false;              ///< it may read it as well
  std::optional<Bytes> moved = {};  ///< over a hop, if that is not all of it
};

/// One run of a kernel.
struct KernelRequest {
  KernelHandle kernel;
  PlaceId gpu;                             ///< for which it was loaded
  std::vector<KernelMemory> memory;        ///< its last parameters, in order
  std::vector<std::uint64_t> values = {};  ///< the first ones
  LaunchShape shape = {};
  /// That is expected, without what it moves over hops; on a simulated machine it takes that long.
  Seconds duration = {};
  CopyLabel label = {};
  /// It waits for those of other streams: nothing that these need may be put into streams later.
  std::optional<KernelGroup> group = {};
};

/// A word of 32 bits that a stream or graph writes, or waits for.
struct FlagRequest {
  Address address;  ///< a multiple of 4
  PlaceId place;
  PlaceId gpu;  ///< that does it
  std::uint32_t value = 1;
  bool waits = false;                      ///< until the word is `value`, instead of writing it
  std::optional<std::uint32_t> then = {};  ///< the value written into it after that wait
  bool before_kernels = false;             ///< of a wait: the waiting work is kernels, not copies
};

/// Names an allocation and a place in it to other processes.
using ExportedMemory = std::vector<std::byte>;

/// A copy in a graph, after the nodes in `after` (indices of earlier nodes).
struct GraphNode {
  CopyRequest copy;
  std::vector<int> after;
  std::optional<Reduction> reduction = {};   ///< if it is one; as Driver::reduce
  std::optional<KernelRequest> kernel = {};  ///< or this instead of a copy; as Driver::run
  std::optional<FlagRequest> flag = {};      ///< or this; as Driver::write_value and wait_value
};

/// The driver's view of memory.
enum class MemoryKind {
  device,    ///< of one GPU
  pinned,    ///< of a host, page-locked: copies to and from it are asynchronous
  managed,   ///< wherever the driver has moved it
  pageable,  ///< of a host, not known to the driver
};

/// An allocation.
struct MemoryInfo {
  PlaceId place;
  Address base;  ///< of the allocation; of pageable memory, the address asked for
  Bytes size;    ///< of the allocation; of pageable memory, all there could be
  MemoryKind kind = MemoryKind::device;
};

/// Memory that was allocated, or mapped, at once: a part of a range.
struct MemoryPart {
  Address base;
  Bytes size;
  std::uint64_t id = 0;  ///< as Driver::memory_id

  bool operator==(const MemoryPart&) const = default;
};

/// The GPUs that copy to and from staging memory.
struct StagingUsers {
  PlaceId writer;
  PlaceId reader;
};

class Driver {
 public:
  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  virtual ~Driver() = default;

  /// "sim" or "cuda".
  [[nodiscard]] virtual std::string name() const = 0;
  /// Which simulation its GPUs are in, told apart from all others of the computer; empty: none.
  [[nodiscard]] virtual std::string simulation() const { return {}; }
  /// The calling thread's clock; its origin is the driver's creation.
  [[nodiscard]] virtual Seconds now() = 0;

  /// Memory of a place: device memory of a GPU, pinned memory of a host. Aligned to 512 bytes.
  virtual Address allocate(PlaceId place, Bytes bytes) = 0;
  /// As allocate_shareable(), with nothing but zeros in it. Waits for that.
  virtual Address allocate_zeros(PlaceId place, Bytes bytes) = 0;
  /// The same for memory that other processes are to be given, too: export_memory() takes any that
  /// this returns. Error (unsupported) if the system has no such memory.
  virtual Address allocate_shareable(PlaceId place, Bytes bytes) { return allocate(place, bytes); }
  /// Frees what allocate returned, once nothing queued uses it.
  virtual void free(Address address) = 0;
  /// The same for memory that copies by the users' GPUs fill and empty, and no others. Its free()
  /// waits for nothing: the caller knows that nothing uses it any more.
  virtual Address allocate_staging(PlaceId place, const StagingUsers& users, Bytes bytes) {
    (void)users;
    return allocate(place, bytes);
  }
  /// The allocation that contains `address`; none if the driver knows that nothing is there.
  [[nodiscard]] virtual std::optional<MemoryInfo> find_memory(Address address) = 0;
  /// A number of the allocation that contains `address`, never given twice; 0 if there is none, or
  /// the driver has no such numbers.
  [[nodiscard]] virtual std::uint64_t memory_id(Address address) {
    (void)address;
    return 0;
  }

  /// What a range of a GPU's memory lies in that export_range() would hand out: the allocation, or
  /// mappings without a gap, whole and in order. Empty if that is not so.
  [[nodiscard]] virtual std::vector<MemoryPart> shareable_parts(Address begin, Bytes bytes);

  /// A stream of a GPU. Work on one stream runs in order.
  virtual StreamHandle create_stream(PlaceId gpu) = 0;
  /// Work still queued on the stream runs to its end.
  virtual void destroy_stream(StreamHandle stream) = 0;
  /// The handle of a stream that the driver's user made without this interface.
  [[nodiscard]] virtual StreamHandle foreign_stream(PlaceId gpu, std::uintptr_t stream) = 0;
  /// The GPU of such a stream; of a default stream the current context's. None if its context is
  /// not the primary one of a GPU.
  [[nodiscard]] virtual std::optional<PlaceId> gpu_of_foreign(std::uintptr_t stream) {
    (void)stream;
    return std::nullopt;
  }
  /// True while the stream's calls are being captured into a graph of the caller.
  [[nodiscard]] virtual bool is_capturing(StreamHandle stream) = 0;

  virtual EventHandle create_event(PlaceId gpu) = 0;
  virtual void destroy_event(EventHandle event) = 0;
  /// The event stands for all work now on the stream, which belongs to the event's GPU; an earlier
  /// record is forgotten.
  virtual void record(EventHandle event, StreamHandle stream) = 0;
  /// Later work on the stream starts after the work that the event stands for now.
  virtual void wait(StreamHandle stream, EventHandle event) = 0;
  /// True if the work that the event stands for has finished, or it was never recorded.
  [[nodiscard]] virtual bool is_done(EventHandle event) = 0;
  /// An event that also says when: for `elapsed`.
  virtual EventHandle create_timing_event(PlaceId gpu) = 0;
  /// From what `begin` stands for to what `end` does; nothing while either has not finished. Both
  /// are timing events of one GPU, and recorded.
  [[nodiscard]] virtual std::optional<Seconds> elapsed(EventHandle begin, EventHandle end) = 0;

  /// Makes now what the first copy between two places would make: it takes long (a tenth of a
  /// second for a GPU that has not been used), and may fail where there is no room for it. `pulled`
  /// as in CopyRequest.
  virtual void open_hop(PlaceId source, PlaceId destination, bool pulled) {
    (void)source, (void)destination, (void)pulled;
  }
  /// Bytes were seen not to arrive over a hop: processes that start later on this computer know.
  virtual void note_lost(PlaceId source, PlaceId destination) { (void)source, (void)destination; }
  /// False if the first use of the place makes a context on its GPU: that takes long, and holds up
  /// the program's allocations.
  virtual bool is_open(PlaceId place) {
    (void)place;
    return true;
  }
  /// True if other processes have contexts on this GPU, as far as the system says. Not for calls of
  /// the program: the first question opens NVML.
  virtual bool is_used_by_others(PlaceId gpu) {
    (void)gpu;
    return false;
  }

  /// Enqueues a copy. The ranges must not overlap.
  virtual void copy(const CopyRequest& request, StreamHandle stream) = 0;

  /// A copy and its stream.
  struct Enqueued {
    CopyRequest request;
    StreamHandle stream;
  };
  /// Threads that begin at the same time enqueue one copy each and wait for its stream. Returns how
  /// long that takes until the last of them knows of its end.
  [[nodiscard]] virtual Seconds copy_by_threads(const std::vector<Enqueued>& copies);

  /// Enqueues a reduction: destination = destination ∘ source, element by element. Both are memory
  /// of one GPU, the stream's, and whole elements. Error (unsupported) if the driver has no
  /// kernels.
  virtual void reduce(const CopyRequest& request, const Reduction& reduction, StreamHandle stream);

  /// Makes a kernel ready for a GPU. Error (invalid_argument) if the driver has no use for the
  /// arguments: no image for a GPU, no function of that name in it, nothing for a simulated
  /// machine; (unsupported) if it has no kernels.
  virtual KernelHandle load_kernel(PlaceId gpu, const Kernel& kernel);
  /// Work that is queued or part of a graph must have finished, and the graph be destroyed.
  virtual void unload_kernel(KernelHandle kernel);
  /// True if kernels of the GPU can use the allocation that the address lies in: a fault of theirs
  /// would end the program.
  [[nodiscard]] virtual bool kernels_reach(PlaceId gpu, Address address);
  /// Enqueues a kernel on a stream of its GPU. Memory of another place has to be within reach.
  virtual void run(const KernelRequest& request, StreamHandle stream);

  /// Enqueues the writing of a word of 32 bits at a place: a reader that sees it sees all that came
  /// before it in the stream. Error (unsupported) if the driver cannot.
  virtual void write_value(StreamHandle stream, Address address, PlaceId place,
                           std::uint32_t value);
  /// Later work in the stream starts once the word is `value`. Its writer must not depend on
  /// anything that is put into streams later than this.
  virtual void wait_value(StreamHandle stream, Address address, PlaceId place, std::uint32_t value);
  /// Enqueues a wait and then a write: both calls above, or a better way in a capture.
  virtual void await_flag(const FlagRequest& flag, StreamHandle stream);
  /// Writes a word of 32 bits at a place, now and in no stream: a reader that sees it sees all that
  /// the calling thread wrote before. Streams share the channels of a GPU, so a write in one stream
  /// may be held up by a wait in another; this write always comes. In a host's memory it is a store
  /// of the thread; for a GPU's first one CUDA needs a tenth of a second and half a GB there. The
  /// memory is this process's own, not imported. Errors as of write_value.
  virtual void signal(Address address, PlaceId place, std::uint32_t value);

  /// The handle by which another process reaches the allocation that the address lies in, from the
  /// address on. Error (unsupported) for memory that cannot be shared; allocate_shareable() returns
  /// none such.
  [[nodiscard]] virtual ExportedMemory export_memory(Address address);
  /// The same for what shareable_parts() found: from the first of them to the end of the last one.
  [[nodiscard]] virtual ExportedMemory export_range(const std::vector<MemoryPart>& parts);
  /// Where a GPU finds it, also if it is memory of this very process. Error (invalid_argument) if
  /// these bytes name nothing, (driver) if it cannot be reached.
  [[nodiscard]] virtual Address import_memory(const ExportedMemory& memory, PlaceId gpu);
  /// Gives back what import_memory returned, once nothing queued uses it.
  virtual void release_import(Address address);
  /// True if release_import() may block until queued work is done, also work that does not use the
  /// memory.
  [[nodiscard]] virtual bool release_may_wait(Address address) {
    (void)address;
    return true;
  }

  /// A copy between memories of any kind, wherever they are: one native copy, as the driver's user
  /// would make it. With pageable memory it may block until what is before it has finished.
  virtual void copy_native(const NativeCopy& request, StreamHandle stream) = 0;

  /// An executable graph.
  virtual GraphHandle instantiate(const std::vector<GraphNode>& nodes) = 0;
  /// Gives one node other addresses, for later launches; places and bytes stay.
  virtual void update_node(GraphHandle graph, int node, Address destination, Address source) = 0;
  /// The same for a kernel: as many addresses as it has pieces of memory.
  virtual void update_kernel(GraphHandle graph, int node, const std::vector<Address>& memory);
  /// Runs the graph after the work on the stream and after its own earlier launches.
  virtual void launch(GraphHandle graph, StreamHandle stream) = 0;
  /// A launch still running goes on to its end.
  virtual void destroy_graph(GraphHandle graph) = 0;

  /// Blocks the calling thread until all work on the stream has finished.
  virtual void synchronize(StreamHandle stream) = 0;
  /// Blocks the calling thread until what the event stands for has finished. Not the same as to
  /// wait for the stream: an event in a stream that is in order with the default stream stands for
  /// the work there as well.
  virtual void synchronize(EventHandle event) = 0;
};

/// Error (invalid_argument) unless a kernel that declares so many parameters takes those of the
/// run; 0 takes any.
void check_parameters(const KernelRequest& request, std::size_t declared);

/// Error (invalid_argument) unless both ends are in one place, and whole elements.
void check_reduction(const CopyRequest& request, const Reduction& reduction);

/// The same run with its memory at other addresses. Error (invalid_argument) unless there are as
/// many.
KernelRequest with_memory(KernelRequest request, const std::vector<Address>& memory);

}  // namespace polypath::driver
