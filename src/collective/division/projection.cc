#include "collective/division/projection.h"

#include <fmt/format.h>

#include <algorithm>

#include "collective/division/rank_order.h"
#include "collective/program/mail.h"
#include "collective/trees/index_of.h"
#include "core/error.h"

namespace polypath::collective {
namespace {

constexpr int kNone = -1;

// Writes down what one rank does.
class Projection {
 public:
  Projection(const Machine& machine, const Program& whole, const RankOrder& order,
             const std::vector<PlaceId>& ranks, int rank, int per_pair)
      : machine_(machine),
        whole_(whole),
        order_(order),
        rank_(rank),
        per_pair_(per_pair),
        queues_(whole.queues().size(), kNone),
        nodes_(whole.nodes().size(), kNone),
        awaits_(order.flags().size(), kNone) {
    add_buffers(ranks);
    // A rank's work in its own memory needs no stream beside the caller's, which waits for it.
    const Queue own{{}, ranks[index_of(rank)]};
    for (std::size_t queue = 0; queue < queues_.size(); ++queue)
      if (whole.queues()[queue] == own) queues_[queue] = Program::kCallersQueue;
    queues_[Program::kCallersQueue] = Program::kCallersQueue;
    if (const int only = only_queue(); only != kNone)
      queues_[index_of(only)] = Program::kCallersQueue;
  }

  RankPart write(EntryAwaits entries) && {
    for (const int flag : order_.entries(rank_)) add_signal(flag, Program::kCallersQueue);
    if (entries == EntryAwaits::at_first) await_entries();
    for (int node = 0; node < static_cast<int>(nodes_.size()); ++node)
      if (order_.nodes()[index_of(node)].rank == rank_) add(node);
    for (const int flag : order_.ends(rank_)) add_await(flag, Program::kCallersQueue);
    part_.program.assign_events();
    part_.flags_per_pair = order_.words();
    return std::move(part_);
  }

 private:
  // The caller's in their order, then all flags, then scratch memory.
  void add_buffers(const std::vector<PlaceId>& ranks) {
    const auto& buffers = whole_.buffers();
    buffers_.assign(buffers.size(), kNone);
    for (std::size_t i = 0; i < buffers.size(); ++i)
      if (!buffers[i].is_scratch())
        buffers_[i] = part_.program.add(
            ProgramBuffer{.place = buffers[i].place, .is_mailbox = buffers[i].is_mailbox});
    part_.first_flags = static_cast<int>(part_.program.buffers().size());
    part_.first_mailbox = first_mailbox_of(part_.program);
    part_.mailbox = mailbox_bytes_of(whole_);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      part_.program.add(ProgramBuffer{flags_place(machine_, ranks, static_cast<int>(rank))});
    for (std::size_t i = 0; i < buffers.size(); ++i)
      if (buffers[i].is_scratch()) add_scratch(buffers[i], buffers_[i]);
    own_ = part_.program.add(ProgramBuffer{ranks[index_of(rank_)]});
  }

  void add_scratch(const ProgramBuffer& buffer, int& number) {
    number = part_.program.add(ProgramBuffer{buffer.place});
    part_.scratch.push_back({number, buffer.filled_over, buffer.slot, order_.owner_of(buffer)});
  }

  // Work in a single queue, of the rank's own GPU, may as well be in the caller's stream.
  [[nodiscard]] int only_queue() const {
    int only = kNone;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      if (order_.nodes()[node].rank != rank_) continue;
      const int queue = whole_.nodes()[node].queue;
      if (only != kNone && queue != only) return kNone;
      only = queue;
    }
    return only;
  }

  [[nodiscard]] Slice mapped(const Slice& slice) const {
    return {buffers_[index_of(slice.buffer)], slice.offset};
  }

  int queue(int number) {
    int& mapped = queues_[index_of(number)];
    if (mapped == kNone) mapped = part_.program.add(whole_.queues()[index_of(number)]);
    return mapped;
  }

  [[nodiscard]] Node flag_node_of(Operation operation, int flag, int queue) const {
    const RankFlag& which = order_.flags()[index_of(flag)];
    const Slice word{part_.first_flags + which.consumer,
                     flag_offset(which.producer, which.word, per_pair_)};
    return flag_node(operation, queue, word, own_);
  }

  // Besides the node before it in its queue, it may come after others.
  void add_signal(int flag, int queue) {
    std::vector<int> after;
    for (const int node : order_.flags()[index_of(flag)].after)
      after.push_back(nodes_[index_of(node)]);
    part_.program.add(flag_node_of(Operation::signal, flag, queue), after);
  }

  void add_await(int flag, int queue) {
    awaits_[index_of(flag)] = part_.program.add(flag_node_of(Operation::await, flag, queue));
  }

  void await_entries() {
    for (const RankNode& node : order_.nodes()) {
      if (node.rank != rank_) continue;
      for (const int flag : node.awaits)
        if (order_.flags()[index_of(flag)].after.empty()) add_await(flag, Program::kCallersQueue);
    }
  }

  void add(int number) {
    const RankNode& order = order_.nodes()[index_of(number)];
    const Node& node = whole_.node(number);
    const int in = queue(node.queue);
    std::vector<int> after;
    for (const int flag : order.awaits) {
      const int already = awaits_[index_of(flag)];
      if (already == kNone) add_await(flag, in);
      else if (in != Program::kCallersQueue) after.push_back(already);
    }
    for (const int earlier : order.after) after.push_back(nodes_[index_of(earlier)]);
    for (const int flag : order.beside) after.push_back(awaits_[index_of(flag)]);
    nodes_[index_of(number)] = add(node, in, after);
    for (const int flag : order.signals) add_signal(flag, in);
  }

  int add(const Node& node, int queue, const std::vector<int>& after) {
    if (node.operation == Operation::kernel) {
      KernelCall call = whole_.call_of(node);
      for (Access& access : call.memory) access.slice = mapped(access.slice);
      return part_.program.add(std::move(call), queue, after);
    }
    Node made;
    made.operation = node.operation;
    made.hop = node.hop, made.reduction = node.reduction, made.bytes = node.bytes;
    made.source = mapped(node.source), made.destination = mapped(node.destination);
    made.queue = queue, made.path = node.path, made.chunk = node.chunk;
    return part_.program.add(made, after);
  }

  const Machine& machine_;
  const Program& whole_;
  const RankOrder& order_;
  int rank_;
  int per_pair_;
  RankPart part_;
  int own_ = kNone;  ///< a buffer of the rank's GPU: of it nothing else is used
  std::vector<int> buffers_, queues_, nodes_;  ///< of the part, by those of the whole
  std::vector<int> awaits_;                    ///< nodes of the part, by flag
};

}  // namespace

PlaceId flags_place(const Machine& machine, const std::vector<PlaceId>& ranks, int rank) {
  const PlaceId gpu = ranks[index_of(rank)];
  const auto reaches = [&](PlaceId other) {
    const auto hop = machine.find_hop(other, gpu);
    return other == gpu || (hop && machine.hop(*hop).kind == HopKind::peer);
  };
  const PlaceId host = machine.nearest_host(gpu);
  return std::all_of(ranks.begin(), ranks.end(), reaches) || !host.valid() ? gpu : host;
}

bool stays_within_reach(const Machine& machine, const Program& program) {
  return std::none_of(program.nodes().begin(), program.nodes().end(), [&](const Node& node) {
    return node.hop.valid() && machine.hop(node.hop).kind == HopKind::driver_staged;
  });
}

std::vector<RankPart> project(const Machine& machine, const Program& program,
                              const std::vector<PlaceId>& ranks, int per_pair,
                              EntryAwaits entries) {
  const RankOrder order(machine, program, ranks);
  if (order.words() > per_pair)
    fail(ErrorCode::unsupported, "a program cannot be divided among its ranks",
         fmt::format("it needs {} flags between two of them, and {} are kept", order.words(),
                     per_pair),
         "Use larger pieces.");
  std::vector<RankPart> parts;
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank)
    parts.push_back(Projection(machine, program, order, ranks, rank, per_pair).write(entries));
  return parts;
}

}  // namespace polypath::collective
