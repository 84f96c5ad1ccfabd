#pragma once
// Collectives of ranks on several nodes, as RankCollectives has them on one: each rank gives its
// part of a call, in its own stream, and waits for nobody.
//
//   run(call, stream): say what is called, in the node (communicator) and to the equal ranks of the
//   other nodes (proxy) ─▶ its pieces through the steps of among_nodes.h, each step of a piece
//   enqueued after the next piece's step before it
//
// Nothing is put into a stream before what it waits for on any rank: all ranks enqueue the steps in
// one order, a step waits only for earlier ones, and the proxies start and end exchanges in that
// order.

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "collective/internode/among_nodes.h"
#include "collective/internode/node_exchange.h"
#include "collective/rank/rank_collectives.h"
#include "communicator/communicator.h"
#include "communicator/transport/transport.h"

namespace polypath {

/// What goes between nodes.
struct BetweenNodes {
  std::unique_ptr<Transport> transport;  ///< of the communicator's ranks
  /// The most that one rank sends to the other nodes at once; the same at all ranks.
  Bytes piece = 1_MiB;
};

/// Pieces of a machine's network: α takes at most 3 % of the time in which β moves one, n with
/// α ≤ 0.03·n/β, the next power of two. So much latency is lost at most; of larger pieces fewer are
/// under way at a time, and their memory is larger. 1 MiB where the machine says nothing of its
/// network, a guess; 16 MiB at most. No network has been measured.
Bytes piece_between_nodes(const Machine& machine);

/// One rank's end. Not thread-safe.
class NodesCollectives {
 public:
  /// All ranks make theirs at the same time. `gpu` is this rank's, of the machine of its node.
  /// Errors: those of RankCollectives, of the communicator and of the driver; unsupported if the
  /// nodes have different numbers of ranks; invalid_argument for one node, or a transport of other
  /// ranks.
  NodesCollectives(Driver& driver, const Machine& machine, const Settings& settings, PlaceId gpu,
                   std::unique_ptr<Communicator> communicator, BetweenNodes between);
  NodesCollectives(const NodesCollectives&) = delete;
  NodesCollectives& operator=(const NodesCollectives&) = delete;
  /// As close(), without its errors. What cannot be waited for keeps its memory.
  ~NodesCollectives();

  /// As those of RankCollectives.
  void close();
  void leave() noexcept;
  void synchronize();

  [[nodiscard]] int rank() const { return communicator_->rank(); }
  [[nodiscard]] int size() const { return communicator_->size(); }
  [[nodiscard]] Communicator& communicator() { return *communicator_; }

  /// As that of a communicator, before the first call.
  void set_timeout(Seconds timeout);
  /// What the ranks of a node do together is chosen from these; the same at all ranks. For
  /// measurements.
  void choose_from(const CollectiveOptions& options);

  /// Enqueues the rank's part on `stream`, one of its GPU, after what is there; what comes next is
  /// after all that touches its memory. The first call of each kind and size waits for the ranks of
  /// the node, later ones for nobody. Errors: invalid_argument for a call that nobody can do, or if
  /// the ranks' calls differ: of ranks of other nodes, at a later call; communicator after an
  /// abort, which names a rank that is gone or does not come; unsupported while the stream is
  /// being captured, and for all-to-alls of ranks that are not numbered node by node; those of the
  /// driver.
  void run(const CollectiveCall& call, StreamHandle stream);
  /// Makes what such calls need in the node, and enqueues nothing. Waits for the ranks of the node.
  /// Errors: those of run() but for the stream's.
  void prepare(const CollectiveCall& call);
  /// What is sent at once.
  [[nodiscard]] Bytes piece() const { return rank_->piece(); }
  /// What follows on `stream` comes after all that was in the other ranks' streams when they called
  /// it. Waits for nobody but the ranks of the node, the first time.
  void barrier(StreamHandle stream);
  /// Of the threads that call it, not of streams.
  void barrier();
  /// True once nothing is queued.
  [[nodiscard]] bool is_done();
  /// Waits until no message of an earlier call of any rank is under way, so that no stream waits
  /// for another node; all ranks call it. Error: that of an abort.
  void await_messages();

 private:
  [[nodiscard]] std::unique_ptr<RankCollectives> make_inside(const Machine& machine,
                                                             const Settings& settings, PlaceId gpu);
  [[nodiscard]] NetworkProxy::Group proxy_group(std::unique_ptr<Transport> transport);
  void join_aborts();
  void destroy_events();
  [[nodiscard]] std::vector<Blob> meet(const CallRecord& record, const Blob& mine);
  [[nodiscard]] CallNumber compare(const CallRecord& record);
  void await_comparison();
  template <class Question>
  void wait_for(Question is_over);
  void mark_end(StreamHandle stream);
  void check_call(const CollectiveCall& call) const;
  [[nodiscard]] CollectiveRequest request_of(const CollectiveCall& call) const;
  static void check_memory(const CollectiveCall& call, bool needs_input, bool needs_output);
  void enqueue(const CallRecord& record, AmongNodes& call, StreamHandle stream);
  void issue(AmongNodes& call, StreamHandle stream);
  void send_first(AmongNodes& call, int piece);
  void go_on(AmongNodes& call, int piece);
  [[nodiscard]] bool await_all() noexcept;
  [[nodiscard]] bool is_network_done() { return driver_.is_done(network_end_); }

  Driver& driver_;
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<RankCollectives> inside_;  ///< of the node; none for one rank
  std::unique_ptr<NodeRank> rank_;
  std::unique_ptr<NodeExchange> exchange_;
  StreamHandle network_;
  std::array<EventHandle, NodeRank::kPieces> before_;  ///< of the pieces under way: all of it
  std::array<EventHandle, NodeRank::kPieces> between_;
  EventHandle end_;          ///< of the last call
  EventHandle network_end_;  ///< of what is in the network's stream
  std::optional<StreamHandle> last_stream_;
  std::uint64_t last_call_ = 0;  ///< as the proxy counts them
  bool is_closed_ = false;
};

}  // namespace polypath
