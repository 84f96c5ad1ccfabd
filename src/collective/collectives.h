#pragma once
// One rank's end of collectives, wherever the ranks are: on one node they reach each other's memory
// (RankCollectives), on several they also send messages (NodesCollectives). Which of the two it is,
// the communicator's nodes say.

#include <memory>
#include <optional>
#include <string>

#include "collective/internode/nodes_collectives.h"
#include "collective/rank/rank_collectives.h"

namespace polypath {

/// What was chosen for a call.
struct ChosenWay {
  std::string algorithm;
  Executor executor = Executor::stream;
  Bytes piece;
  bool several_paths = false;
  std::optional<Seconds> predicted;  ///< none among nodes, where nothing is predicted
};

/// Not thread-safe.
class Collectives {
 public:
  /// All ranks make theirs at the same time. `gpu` is this rank's, of its node's machine; without a
  /// name the one of its number among the ranks of its node. `host` is the name or address by which
  /// other nodes reach this one; empty: found (transport.h). Errors: those of RankCollectives or
  /// NodesCollectives, of the communicator and of transport_by_tcp.
  Collectives(Driver& driver, const Machine& machine, const Settings& settings,
              const std::string& gpu, std::unique_ptr<Communicator> communicator,
              const std::string& host = {});

  [[nodiscard]] int rank() { return communicator().rank(); }
  [[nodiscard]] int size() { return communicator().size(); }
  [[nodiscard]] int nodes() { return communicator().nodes().count(); }
  [[nodiscard]] const std::string& gpu() const { return gpu_; }
  [[nodiscard]] Communicator& communicator();

  /// As those of RankCollectives and NodesCollectives.
  void choose_from(const CollectiveOptions& options);
  void run(const CollectiveCall& call, StreamHandle stream);
  void run(RepeatedCall& call, StreamHandle stream);
  void prepare(const CollectiveCall& call);
  [[nodiscard]] ChosenWay chosen(const CollectiveCall& call);
  void set_timeout(Seconds timeout);
  void close();
  void synchronize();
  void barrier();
  void barrier(StreamHandle stream);
  /// As barrier(), and until no message between nodes is under way that an earlier call of any rank
  /// needs. Errors: that of an abort.
  void await_messages();

 private:
  void join_nodes(Driver& driver, const Machine& machine, const Settings& settings, PlaceId gpu,
                  std::unique_ptr<Communicator> communicator, const std::string& host);

  std::string gpu_;
  std::unique_ptr<RankCollectives> of_node_;
  std::unique_ptr<NodesCollectives> among_nodes_;  ///< one of the two
};

}  // namespace polypath
