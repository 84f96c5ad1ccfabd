#pragma once
// Enqueues the steps of a call among nodes, piece by piece: each step of a piece after the next
// piece's step before it (internode_schedule.h). The network has a stream of its own. Where the
// messages are work of that stream, the steps in it are one.

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "collective/internode/internode_schedule.h"
#include "collective/internode/piece_exchange.h"
#include "driver/driver.h"

namespace polypath::collective {

class InternodePipeline {
 public:
  /// `exchange` must outlive it. Errors of the driver.
  InternodePipeline(Driver& driver, PlaceId gpu, PieceExchange& exchange);
  InternodePipeline(const InternodePipeline&) = delete;
  InternodePipeline& operator=(const InternodePipeline&) = delete;
  /// Destroys its stream and events. Nothing may be queued.
  void close();

  [[nodiscard]] StreamHandle network() const { return network_; }
  /// What is in the network's stream so far is part of what is to end.
  void mark_network() { driver_.record(network_end_, network_); }
  /// A call in the caller's stream, after the call before it.
  void issue(InternodeSchedule& call, StreamHandle stream);
  /// After an error: a call that is enqueued in part has an end as well, because it waits for
  /// others.
  void mark_end(StreamHandle stream);

  /// True if the last call is over in its stream.
  [[nodiscard]] bool is_done() const { return !last_stream_ || driver_.is_done(end_); }
  [[nodiscard]] bool is_network_done() const { return driver_.is_done(network_end_); }

 private:
  using Steps = std::vector<std::function<void(int piece)>>;

  [[nodiscard]] Steps network_steps(InternodeSchedule& call);
  void send_first(InternodeSchedule& call, int piece);
  void go_on(InternodeSchedule& call, int piece);
  void end_second(int piece);

  Driver& driver_;
  PieceExchange& exchange_;
  StreamHandle network_;
  std::array<EventHandle, NodeRank::kPieces> before_;  ///< of the pieces under way: all of it
  std::array<EventHandle, NodeRank::kPieces> between_;
  EventHandle end_;          ///< of the last call
  EventHandle network_end_;  ///< of what is in the network's stream
  std::optional<StreamHandle> last_stream_;
};

}  // namespace polypath::collective
