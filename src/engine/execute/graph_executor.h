#pragma once
// Runs a program as one executable graph, kept in a cache (000, section 4).
//
// A graph is found by the program's structure. If it was last launched with other addresses, its
// nodes are given the new ones in place, which costs a tenth of instantiating. Staging slots are
// part of the graph, so a launch is ordered after the last use of every ring it touches, and before
// the next.

#include <string>

#include "core/settings.h"
#include "engine/call/statistics.h"
#include "engine/execute/binding.h"
#include "engine/execute/hops.h"
#include "engine/execute/transfer.h"
#include "plan/lru_cache.h"

namespace polypath::engine {

class GraphExecutor {
 public:
  GraphExecutor(Driver& driver, Hops& hops, const Settings& settings, Statistics& statistics);
  ~GraphExecutor();

  /// Finds, updates or instantiates the graph. Errors leave nothing behind.
  void prepare(const Transfer& transfer);
  /// Whether the graph is kept, or can be without giving up another one.
  [[nodiscard]] bool fits(const Transfer& transfer) {
    return cache_.size() < most_ || cache_.find(transfer.structure) != nullptr;
  }
  /// Launches it. After an error it may be running: synchronise the caller's stream.
  void run(const Transfer& transfer);

 private:
  struct Entry {
    GraphHandle graph;
    std::vector<Address> buffers;
    std::vector<KernelHandle> kernels;  ///< cannot be changed in it
    std::vector<Address> flags;         ///< nor these, node by node
  };

  [[nodiscard]] Entry* find(const Transfer& transfer);
  [[nodiscard]] static std::vector<Address> flags_of(const Transfer& transfer);
  void add(const Transfer& transfer);
  [[nodiscard]] GraphHandle instantiate(const Transfer& transfer);
  void update_node(GraphHandle graph, const Binding& bound, int number);
  [[nodiscard]] bool update(Entry& entry, const Transfer& transfer);
  void destroy(GraphHandle graph) noexcept;

  Driver& driver_;
  Hops& hops_;
  Statistics& statistics_;
  std::size_t most_;  ///< graphs
  LruCache<std::string, Entry> cache_;
};

}  // namespace polypath::engine
