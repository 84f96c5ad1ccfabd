#include "model/transfer.h"

#include <algorithm>

namespace polypath::model {
namespace {

// One path while its copies are laid out.
struct Layout {
  const PathShape* shape = nullptr;
  Bytes offset;                 // of the next chunk
  int first = -1, second = -1;  // queues
  int slot = -1;                // the buffer of slot 0; the others follow
  int arriving = -1;            // the first copy of this round
  std::vector<int> second_copies;
};

class TransferBuilder {
 public:
  TransferBuilder(const Machine& machine, const TransferShape& shape, int slots)
      : machine_(machine), slots_(slots) {
    if (shape.paths.empty()) return;
    const Path& path = shape.paths.front().path;
    const HopId last = path.staged() ? path.second : path.first;
    program_.add(ProgramBuffer{machine.hop(path.first).source});
    program_.add(ProgramBuffer{machine.hop(last).destination});
    Bytes offset;
    std::size_t nodes = 0;
    layouts_.reserve(shape.paths.size());
    for (const PathShape& part : shape.paths) {
      layouts_.push_back(layout_of(part, offset));
      for (const Bytes chunk : part.chunks) offset += chunk;
      nodes += part.chunks.size() * (part.path.staged() ? 2 : 1);
      rounds_ = std::max(rounds_, part.chunks.size());
    }
    program_.reserve(nodes);
  }

  Program build() {
    for (std::size_t chunk = 0; chunk < rounds_; ++chunk) {
      for (std::size_t p = 0; p < layouts_.size(); ++p)
        if (chunk < layouts_[p].shape->chunks.size()) add_first(p, chunk);
      for (std::size_t p = 0; p < layouts_.size(); ++p)
        if (chunk < layouts_[p].shape->chunks.size() && layouts_[p].shape->path.staged())
          add_second(p, chunk);
    }
    return std::move(program_);
  }

 private:
  Layout layout_of(const PathShape& shape, Bytes offset) {
    Layout layout;
    layout.shape = &shape;
    layout.offset = offset;
    const auto [first, second] = shape.path;
    if (!shape.path.staged()) {
      layout.first = Program::kCallersQueue;
      return layout;
    }
    layout.first = program_.add(queue_of(machine_, first));
    layout.second = program_.add(queue_of(machine_, second));
    const int used = std::min(slots_, static_cast<int>(shape.chunks.size()));
    for (int slot = 0; slot < used; ++slot) {
      const int buffer = program_.add(ProgramBuffer{machine_.hop(first).destination, first, slot});
      if (slot == 0) layout.slot = buffer;
    }
    layout.second_copies.reserve(shape.chunks.size());
    return layout;
  }

  [[nodiscard]] Slice slot_of(const Layout& layout, std::size_t chunk) const {
    return {layout.slot + static_cast<int>(chunk) % slots_, {}};
  }

  void add_first(std::size_t p, std::size_t chunk) {
    Layout& layout = layouts_[p];
    const Path& path = layout.shape->path;
    Node node;
    node.hop = path.first;
    node.source = {kSourceBuffer, layout.offset};
    node.destination =
        path.staged() ? slot_of(layout, chunk) : Slice{kDestinationBuffer, layout.offset};
    node.bytes = layout.shape->chunks[chunk];
    node.queue = layout.first;
    node.path = static_cast<int>(p);
    node.chunk = static_cast<int>(chunk);
    layout.offset += node.bytes;
    const auto slots = static_cast<std::size_t>(slots_);
    layout.arriving = path.staged() && chunk >= slots
                          ? program_.add(node, {layout.second_copies[chunk - slots]})
                          : program_.add(node);
  }

  void add_second(std::size_t p, std::size_t chunk) {
    Layout& layout = layouts_[p];
    const Node& first = program_.node(layout.arriving);
    Node node;
    node.hop = layout.shape->path.second;
    node.source = first.destination;
    node.destination = {kDestinationBuffer, first.source.offset};
    node.bytes = first.bytes;
    node.queue = layout.second;
    node.path = first.path;
    node.chunk = static_cast<int>(chunk);
    layout.second_copies.push_back(program_.add(node, {layout.arriving}));
  }

  const Machine& machine_;
  int slots_;
  std::size_t rounds_ = 0;
  std::vector<Layout> layouts_;
  Program program_;
};

}  // namespace

const char* name_of(Executor executor) {
  switch (executor) {
    case Executor::native: return "native";
    case Executor::stream: return "stream";
    case Executor::graph: return "graph";
  }
  return "unknown";
}

Bytes PathShape::bytes() const {
  Bytes sum;
  for (const Bytes chunk : chunks) sum += chunk;
  return sum;
}

Bytes TransferShape::total() const {
  Bytes sum;
  for (const PathShape& shape : paths) sum += shape.bytes();
  return sum;
}

Program program_of(const Machine& machine, const TransferShape& shape, int slots) {
  return TransferBuilder(machine, shape, std::max(slots, 1)).build();
}

}  // namespace polypath::model
