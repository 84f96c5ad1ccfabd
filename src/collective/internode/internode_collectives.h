#pragma once
// Collectives of ranks on several nodes, as NodeCollectives has them on one: each rank enqueues its
// part of a call in its own stream and does not wait for other ranks.
//
//   run(call, stream): announce the call, in the node (communicator) and to the rail peers
//   (proxy) ─▶ its pieces through the steps of internode_schedule.h, each step of a piece
//   enqueued after the next piece's step before it
//
// Nothing is put into a stream before what it waits for on any rank: all ranks enqueue the steps in
// one order, a step waits only for earlier ones, and the proxies start and end exchanges in that
// order.

#include <memory>
#include <string>

#include "collective/internode/internode_pipeline.h"
#include "collective/internode/internode_schedule.h"
#include "collective/internode/node_exchange.h"
#include "collective/rank/node_collectives.h"
#include "communicator/communicator.h"
#include "communicator/transport/transport.h"

namespace polypath::collective {

/// The traffic between nodes.
struct InternodeLink {
  std::unique_ptr<Transport> transport;  ///< of the communicator's ranks
  /// The most that one rank sends to the other nodes at once; the same at all ranks.
  Bytes piece = 1_MiB;
};

/// Pieces of a machine's network: α takes at most 3 % of the time in which β moves one, n with
/// α ≤ 0.03·n/β, the next power of two. So much latency is lost at most; of larger pieces fewer are
/// under way at a time, and their memory is larger. 1 MiB where the machine says nothing of its
/// network, a guess; 16 MiB at most. No network has been measured.
Bytes piece_between_nodes(const Machine& machine);

/// One rank's end on several nodes; Collectives documents the rest.
class InternodeCollectives final : public Collectives {
 public:
  /// All ranks make theirs at the same time. `gpu` is this rank's, of the machine of its node.
  /// Errors: those of NodeCollectives, of the communicator and of the driver; unsupported if the
  /// nodes have different numbers of ranks; invalid_argument for one node, or a transport of other
  /// ranks.
  InternodeCollectives(Driver& driver, const Machine& machine, const Settings& settings,
                       PlaceId gpu, std::unique_ptr<Communicator> communicator,
                       InternodeLink between);
  InternodeCollectives(const InternodeCollectives&) = delete;
  InternodeCollectives& operator=(const InternodeCollectives&) = delete;
  ~InternodeCollectives() override;

  [[nodiscard]] Communicator& communicator() const override { return *communicator_; }
  /// Before the first call.
  void set_timeout(Seconds timeout) override;
  /// The node's own programs are chosen from these.
  void choose_from(const CollectiveOptions& options) override;

  using Collectives::run;
  /// Errors besides: of ranks of other nodes that call something else, at a later call; unsupported
  /// while the stream is being captured, and for all-to-alls of ranks that are not numbered node by
  /// node.
  void run(const CollectiveCall& call, StreamHandle stream) override;
  void prepare(const CollectiveCall& call) override;
  /// Within the nodes each piece has a choice of its own.
  [[nodiscard]] ChosenWay chosen(const CollectiveCall& call) override;
  void barrier(StreamHandle stream) override;
  void barrier() override;
  void await_messages() override;

  void synchronize() override;
  [[nodiscard]] bool is_done() override;
  void close() override;
  void leave() noexcept override;

 private:
  void make_parts(const Machine& machine, const Settings& settings, PlaceId gpu,
                  InternodeLink& between);
  void drop(const std::string& why) noexcept;
  [[nodiscard]] std::unique_ptr<NodeCollectives> make_inside(const Machine& machine,
                                                             const Settings& settings, PlaceId gpu);
  [[nodiscard]] ProxyGroup proxy_group(std::unique_ptr<Transport> transport);
  void join_aborts();
  [[nodiscard]] std::vector<Blob> meet(const CallRecord& record, const Blob& mine);
  [[nodiscard]] CallNumber compare(const CallRecord& record);
  void await_comparison();
  template <class Question>
  void wait_for(Question is_over);
  void check_call(const CollectiveCall& call) const;
  void enqueue(const CallRecord& record, InternodeSchedule& call, StreamHandle stream);
  [[nodiscard]] bool await_all() noexcept;
  /// After an abort, of messages whose memory the library that carries them still has.
  [[nodiscard]] bool are_messages_over() const noexcept;

  Driver& driver_;
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<NodeCollectives> inside_;  ///< of the node; none for one rank
  std::unique_ptr<NodeRank> rank_;
  std::unique_ptr<NodeExchange> exchange_;
  std::unique_ptr<InternodePipeline> pipeline_;
  std::uint64_t last_call_ = 0;  ///< as the proxy counts them
  bool is_closed_ = false;
};

}  // namespace polypath::collective
