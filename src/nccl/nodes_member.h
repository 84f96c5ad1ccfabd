#pragma once
// A member whose ranks are on several nodes, the same number on each. A call goes in pieces:
//
//   in the node: kernels of ours ─▶ between nodes: the real library's sends and receives, and
//   reductions ─▶ in the node: kernels of ours
//
// The steps, and the order of sums, are those of collective/internode/internode_schedule.h. All of
// them are work of streams: no call waits on the host for another rank.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collective/internode/internode_pipeline.h"
#include "collective/internode/internode_schedule.h"
#include "collective/rank/node_collectives.h"
#include "communicator/bootstrap/nodes.h"
#include "nccl/member.h"
#include "nccl/rail.h"

namespace polypath::nccl {

class NodesMember final : public Member {
 public:
  /// How the ranks meet: all of them, and those of a node.
  struct Meeting {
    std::unique_ptr<Bootstrap> all, node;
    Nodes nodes;
  };

  /// All ranks make theirs at the same time, beside a communicator of the real library, which must
  /// outlive it. Waits for them, for `timeout` at most in each of a few rounds. Errors, at all
  /// ranks: those of join_in_node() and Rail.
  NodesMember(const Surroundings& around, PlaceId gpu, Meeting meeting, const Functions& real,
              Comm program, Seconds timeout);
  NodesMember(const NodesMember&) = delete;
  NodesMember& operator=(const NodesMember&) = delete;
  /// As leave().
  ~NodesMember() override { leave(); }

  [[nodiscard]] std::string shape() const override;
  std::vector<Blob> all_gather(const Blob& mine) override;
  void work_for_ever() override;
  [[nodiscard]] bool has(Operation operation) const override;
  [[nodiscard]] bool serves_groups() const override { return false; }
  /// Captured calls are NCCL's, too: its sends and receives would not be the graph's alone.
  [[nodiscard]] std::optional<Fate> left(const Call& call) const override;
  using Member::run;
  /// One call. Errors end the communicator.
  void run(std::span<const Call> calls) override;
  [[nodiscard]] std::optional<std::string> problem() override;
  [[nodiscard]] bool is_idle() override;
  void abort(const std::string& why) override;
  void leave() noexcept override;

 private:
  void make_rail(const Functions& real, Comm program);
  void prepare();
  void prepare_calls();
  void warm_up();
  template <class Action>
  void together(Action action);
  [[nodiscard]] bool await_end_of_work() noexcept;
  [[nodiscard]] const std::vector<int>& node_ranks() const {
    return meeting_.nodes.ranks_on(meeting_.nodes.of(rank()));
  }
  void abort_node(const std::string& why);

  Meeting meeting_;
  Seconds timeout_;
  std::mutex mutex_;                         ///< of calls
  std::unique_ptr<NodeCollectives> inside_;  ///< of the ranks of the node
  std::unique_ptr<NodeRank> place_;
  std::unique_ptr<Rail> rail_;
  std::unique_ptr<InternodePipeline> pipeline_;
  bool has_left_ = false;
};

}  // namespace polypath::nccl
