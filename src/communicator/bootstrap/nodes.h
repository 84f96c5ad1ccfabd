#pragma once
// Which ranks are on one node: those that can share memory of the host, and so also that of GPUs.

#include <cstddef>
#include <string>
#include <vector>

namespace polypath::communicator {

/// Identifies processes that can share memory: by the boot of one kernel, its name, and its
/// namespaces of memory. They have the same text, and all other processes have another one.
std::string this_node();

/// The nodes of n ranks, counted from 0 in the order of their first ranks.
class Nodes {
 public:
  /// `names[r]` is what rank r's node is called.
  explicit Nodes(const std::vector<std::string>& names);

  [[nodiscard]] int count() const { return static_cast<int>(ranks_on_.size()); }
  /// The node of a rank.
  [[nodiscard]] int of(int rank) const { return node_of_[static_cast<std::size_t>(rank)]; }
  /// What a node is called in messages: the first word of its name, which is its computer's if it
  /// has no other.
  [[nodiscard]] const std::string& name(int node) const {
    return names_[static_cast<std::size_t>(node)];
  }
  /// In ascending order.
  [[nodiscard]] const std::vector<int>& ranks_on(int node) const {
    return ranks_on_[static_cast<std::size_t>(node)];
  }
  /// How many ranks of its node come before a rank.
  [[nodiscard]] int local_rank(int rank) const;

 private:
  std::vector<int> node_of_;
  std::vector<std::vector<int>> ranks_on_;
  std::vector<std::string> names_;
};

}  // namespace polypath::communicator
