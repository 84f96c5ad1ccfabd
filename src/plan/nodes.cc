#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "plan/plan.h"

namespace polypath {
namespace {

// Lays out the copies of all paths chunk by chunk and remembers, per path, where each chunk's
// second copy is, because the chunk that reuses its slot must wait for it.
class NodeBuilder {
 public:
  NodeBuilder(const TransferShape& shape, int slots)
      : shape_(shape), slots_(slots), offsets_(shape.paths.size()), last_(shape.paths.size()) {
    Bytes offset;
    for (std::size_t p = 0; p < shape.paths.size(); ++p) {
      offsets_[p] = offset;
      for (const Bytes chunk : shape.paths[p].chunks) offset += chunk;
    }
  }

  std::vector<CopyNode> build() {
    std::size_t rounds = 0;
    for (const PathShape& path : shape_.paths) rounds = std::max(rounds, path.chunks.size());
    for (std::size_t chunk = 0; chunk < rounds; ++chunk) {
      arriving_.clear();
      for (std::size_t p = 0; p < shape_.paths.size(); ++p)
        if (chunk < shape_.paths[p].chunks.size()) add_first(p, chunk);
      for (const int first : arriving_) add_second(first);
    }
    return std::move(nodes_);
  }

 private:
  void add_first(std::size_t p, std::size_t chunk) {
    const PathShape& path = shape_.paths[p];
    CopyNode node;
    node.hop = path.path.first;
    node.offset = offsets_[p];
    node.bytes = path.chunks[chunk];
    node.path = static_cast<int>(p);
    node.chunk = static_cast<int>(chunk);
    offsets_[p] += node.bytes;
    if (path.path.staged()) {
      node.slot = node.chunk % slots_;
      node.to = End::slot;
      if (node.chunk >= slots_)
        wait_for(node, last_[p][static_cast<std::size_t>(node.chunk - slots_)]);
      arriving_.push_back(static_cast<int>(nodes_.size()));
    }
    nodes_.push_back(std::move(node));
  }

  void add_second(int first) {
    CopyNode node = nodes_[static_cast<std::size_t>(first)];
    const auto p = static_cast<std::size_t>(node.path);
    node.hop = shape_.paths[p].path.second;
    node.from = End::slot;
    node.to = End::destination;
    node.after.clear();
    node.awaited = false;
    wait_for(node, first);
    last_[p].push_back(static_cast<int>(nodes_.size()));
    nodes_.push_back(std::move(node));
  }

  void wait_for(CopyNode& node, int earlier) {
    node.after.push_back(earlier);
    nodes_[static_cast<std::size_t>(earlier)].awaited = true;
  }

  const TransferShape& shape_;
  int slots_;
  std::vector<Bytes> offsets_;
  std::vector<std::vector<int>> last_;
  std::vector<int> arriving_;  ///< first copies of this round whose second copies are to come
  std::vector<CopyNode> nodes_;
};

}  // namespace

std::vector<CopyNode> build_nodes(const TransferShape& shape, int slots) {
  return NodeBuilder(shape, slots).build();
}

std::string structure_of(const std::vector<CopyNode>& nodes) {
  std::string structure;
  for (const CopyNode& node : nodes)
    fmt::format_to(std::back_inserter(structure), "{}:{}{}:{}+{}@{}<{};", node.hop.value,
                   static_cast<int>(node.from), static_cast<int>(node.to), node.offset.value,
                   node.bytes.value, node.slot, fmt::join(node.after, ","));
  return structure;
}

}  // namespace polypath
