#pragma once
// A member whose ranks are all on this computer: kernels that exchange messages.

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "collective/rank/node_collectives.h"
#include "nccl/member.h"
#include "nccl/member_messages.h"
#include "nccl/tied_streams.h"

namespace polypath::nccl {

/// Collectives of ranks of this node, by kernels alone, that wait for no other rank in a call. All
/// ranks make theirs at the same time. Waits for them, for `timeout` at most. Errors: those of
/// Communicator and NodeCollectives, among them that kernels of these GPUs cannot exchange
/// messages.
std::unique_ptr<NodeCollectives> join_in_node(const Surroundings& around, PlaceId gpu,
                                              std::unique_ptr<Bootstrap> bootstrap,
                                              Seconds timeout);
/// Calls may wait for other ranks for as long as programs like.
void wait_for_ever(NodeCollectives& ranks);
/// The error that has ended it; none if it goes on.
[[nodiscard]] std::optional<std::string> problem_of(Communicator& communicator);
/// What other ranks are told of an abort.
std::string abort_text(int rank, const std::string& why);

class NodeMember final : public Member {
 public:
  /// `gpu` is this rank's. Errors: as of join_in_node().
  NodeMember(const Surroundings& around, PlaceId gpu, std::unique_ptr<Bootstrap> bootstrap,
             Seconds timeout);
  NodeMember(const NodeMember&) = delete;
  NodeMember& operator=(const NodeMember&) = delete;
  /// As leave().
  ~NodeMember() override;

  [[nodiscard]] std::string shape() const override { return "1 node"; }
  std::vector<Blob> all_gather(const Blob& mine) override;
  void work_for_ever() override { wait_for_ever(*ranks_); }
  [[nodiscard]] bool has(Operation) const override { return true; }
  [[nodiscard]] bool serves_groups() const override { return true; }
  using Member::run;
  void run(std::span<const Call> calls) override;
  /// Null where GPUs are simulated, too.
  [[nodiscard]] MemberMessages* messages() override {
    return serves_messages_ ? messages_.get() : nullptr;
  }
  [[nodiscard]] std::optional<std::string> problem() override;
  [[nodiscard]] bool is_idle() override {
    return ranks_->is_done() && (!messages_ || messages_->is_idle());
  }
  void abort(const std::string& why) override;
  void leave() noexcept override;

 private:
  [[nodiscard]] PersistentCall& repeated(const Call& call);
  void run_in(StreamHandle stream, const Call& call) { ranks_->run(repeated(call), stream); }
  void make_messages();

  std::mutex mutex_;  ///< guards the members below
  /// Before those whose communicator they use: that is closed first.
  std::unique_ptr<MemberMessages> messages_;
  std::unique_ptr<NodeCollectives> ranks_;
  TiedStreams streams_;
  std::unordered_map<std::string, PersistentCall> repeated_;  ///< by all that a call says
  bool serves_messages_ = false;
};

}  // namespace polypath::nccl
