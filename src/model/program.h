#pragma once
// A program: the work between memories of one machine, its queues and its order, without addresses,
// streams or times.
//
// Its nodes are in the order of issue. A node comes after the one before it in its queue, and after
// the nodes that it names. A queue is a stream, an edge between two queues an event. Queue 0 is the
// caller's own: all work in the others starts after the work before it in queue 0, and queue 0 goes
// on after all of them. Flags are words of memory through which programs of several processes wait
// for each other: one sets a flag, another one awaits it, and clears it in doing so. Scratch memory
// is filled over a hop and belongs to it; the node that fills it the next time comes after the node
// that read it last.
//
// Builders write programs (model/transfer.h). Everything else interprets them: when nodes are
// issued (issue.h), when they run (timeline.h), what their streams and events are (stream_calls.h,
// engine/execute/stream_executor.h), their graph (engine/execute/graph_executor.h).

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "machine/machine.h"
#include "model/kernel.h"
#include "model/reduction.h"

namespace polypath::model {

/// Memory that nodes read and write.
struct ProgramBuffer {
  PlaceId place;
  HopId filled_over = {};  ///< of scratch memory: the hop that fills it
  int slot = -1;           ///< and its number there
  int ring = -1;           ///< of scratch memory: which of Program::rings, found by Program::add
  /// The place's mailbox (model/kernel.h): the runner of the program keeps it.
  bool is_mailbox = false;
  int slots = 1;      ///< of scratch memory: so many from its own on, side by side
  bool kept = false;  ///< of scratch memory: as Ring has it

  [[nodiscard]] bool is_scratch() const { return filled_over.valid(); }
};

/// Where in a buffer a node reads or writes.
struct Slice {
  int buffer = 0;
  Bytes offset;
};

/// Nodes of one queue run one after another.
struct Queue {
  HopId hop = {};    ///< whose copies it carries; invalid if it is the caller's or one for kernels
  PlaceId gpu = {};  ///< whose stream it is; invalid if it is the caller's
  auto operator<=>(const Queue&) const = default;
};

enum class Operation {
  copy,    ///< destination = source
  reduce,  ///< destination = destination ∘ source, element by element, by the destination's GPU
  kernel,  ///< its function, on the memory that its call names
  signal,  ///< the flag at the destination becomes 1; writes before it are seen before that
  await,   ///< once the flag at the destination is 1 it becomes 0, and the queue goes on
};

/// The size of a flag.
inline constexpr Bytes kFlagBytes{4};

/// A piece of memory that a kernel uses.
struct Access {
  Slice slice;
  Bytes bytes;
  bool writes = false;  ///< it may read it as well
  /// The bytes that go over a hop for it, if that is not all of it.
  std::optional<Bytes> moved = {};
};

/// One use of a kernel.
struct KernelCall {
  int kernel = 0;  ///< which of the kernels that the runner of the program brings
  PlaceId gpu;     ///< that runs it
  /// In the order of its parameters. Memory elsewhere is read and written over hops, all at the
  /// same time, once `duration` is over.
  std::vector<Access> memory;
  std::vector<std::uint64_t> values = {};
  LaunchShape shape = {};
  Seconds duration;  ///< that is expected, from its start to its end, without what hops take
  int path = -1;     ///< of a transfer; -1 where there are none
  std::optional<KernelGroup> group = {};
  bool reduces = false;  ///< it is a reduction of several operands
};

/// One operation of a program.
struct Node {
  Operation operation = Operation::copy;
  HopId hop = {};  ///< that a copy goes over
  Reduction reduction = {};
  Slice source;  ///< of a copy or reduction; of a signal or await, in memory of whose GPU it is
  Slice destination;  ///< of a copy or reduction, or the flag
  Bytes bytes;        ///< of a kernel, all that it uses
  int queue = 0;
  int path = -1;   ///< of a transfer; -1 where there are none
  int chunk = -1;  ///< number within the path

  bool starts_queue = false;  ///< nothing before it is known to come after the fork
  bool awaited = false;       ///< a later node of another queue names it
  int event = -1;             ///< number of its event in its queue; see Program::assign_events
  int call = -1;              ///< of a kernel: its number in Program::calls
  std::uint32_t first_edge = 0, edges = 0;
};

/// The slots that one hop fills.
struct Ring {
  HopId filled_over;
  int filler = -1;       ///< the queue that writes to it
  int reader = -1;       ///< the queue that reads from it
  bool several = false;  ///< more than one does
  /// The runner lets other programs use it before or after all of this one: no waits for the ring.
  bool kept = false;
};

class Program {
 public:
  static constexpr int kCallersQueue = 0;

  Program() : queues_(1), states_(1) {}  // NOLINT(modernize-use-equals-default)

  /// Returns its number. The caller's buffers come first.
  int add(ProgramBuffer buffer);
  int add(const Queue& queue);
  /// `after` are numbers of earlier nodes; those of the same queue need not be named.
  /// Error (internal) for a queue, buffer or node that is not there.
  int add(Node node, std::span<const int> after = {});
  int add(const Node& node, std::initializer_list<int> after) {
    return add(node, std::span(after.begin(), after.size()));
  }
  /// The same for a kernel.
  int add(KernelCall call, int queue, std::span<const int> after = {});
  int add(KernelCall call, int queue, std::initializer_list<int> after) {
    return add(std::move(call), queue, std::span(after.begin(), after.size()));
  }
  /// Gives each node that another queue waits for an event of its queue. An event is used again
  /// once everything that waits for it has been told to. Call it when all nodes are there and
  /// before the program is executed.
  void assign_events();
  void reserve(std::size_t nodes) { nodes_.reserve(nodes), edges_.reserve(nodes); }

  [[nodiscard]] const std::vector<ProgramBuffer>& buffers() const { return buffers_; }
  [[nodiscard]] const std::vector<Queue>& queues() const { return queues_; }
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<Ring>& rings() const { return rings_; }
  [[nodiscard]] const KernelCall& call_of(const Node& kernel) const {
    return calls_[static_cast<std::size_t>(kernel.call)];
  }
  [[nodiscard]] const Node& node(int number) const {
    return nodes_[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] const ProgramBuffer& buffer(const Slice& slice) const {
    return buffers_[static_cast<std::size_t>(slice.buffer)];
  }
  /// The nodes of other queues that the node comes after.
  [[nodiscard]] std::span<const int> after(const Node& node) const {
    return std::span(edges_).subspan(node.first_edge, node.edges);
  }
  /// The last node of a queue; -1 if it has none.
  [[nodiscard]] int last_of(int queue) const { return state_of(queue).last; }
  /// True if it has reductions.
  [[nodiscard]] bool reduces() const { return reduces_; }
  [[nodiscard]] std::size_t nodes_in(int queue) const { return state_of(queue).nodes; }
  /// Events that a queue needs; 0 before assign_events.
  [[nodiscard]] int events_of(int queue) const { return state_of(queue).events; }

 private:
  struct QueueState {
    int last = -1;  ///< node
    std::size_t nodes = 0;
    int events = 0;
  };

  [[nodiscard]] const QueueState& state_of(int queue) const {
    return states_[static_cast<std::size_t>(queue)];
  }
  void check(const Node& node, std::span<const int> after) const;
  [[nodiscard]] bool has_memory_of(const Node& node) const;
  void note_uses(const Node& node);
  void note_use(const Slice& slice, int queue, bool fills);

  std::vector<ProgramBuffer> buffers_;
  std::vector<Queue> queues_;
  std::vector<QueueState> states_;  ///< by queue
  std::vector<Node> nodes_;
  std::vector<int> edges_;
  std::vector<Ring> rings_;
  std::vector<KernelCall> calls_;
  bool reduces_ = false;
};

/// True of nodes that signal or await.
inline bool is_flag(Operation operation) {
  return operation == Operation::signal || operation == Operation::await;
}

/// A node in `queue` that signals or awaits the flag there, by the GPU that has the buffer `here`.
Node flag_node(Operation operation, int queue, const Slice& flag, int here);

/// The queue of a hop's copies.
Queue queue_of(const Machine& machine, HopId hop);

/// The GPU that does a node's work.
PlaceId working_gpu(const Machine& machine, const Program& program, const Node& node);

/// The time that work of `gpu` pays if it waits for `earlier` in another queue, once both are
/// ready.
Seconds wait_latency(const Machine& machine, const Program& program, const Node& earlier,
                     PlaceId gpu);

/// The program as a string that is equal exactly for programs that do the same: the key of its
/// graph.
std::string structure_of(const Program& program);

}  // namespace polypath::model
