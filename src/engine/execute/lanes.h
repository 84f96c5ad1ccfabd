#pragma once
// Lanes: the engine's streams and staging rings, lent to one stream of the program at a time.
//
// Work queued in a lane starts after its borrower's earlier work. So a lane passes to another
// stream only when that work is done: streams that the program has not ordered never wait for each
// other in it.

#include <functional>
#include <memory>
#include <vector>

#include "core/settings.h"
#include "engine/call/statistics.h"
#include "engine/execute/graph_executor.h"
#include "engine/execute/hops.h"
#include "engine/execute/loan.h"
#include "engine/execute/queue_depth.h"
#include "engine/execute/stream_executor.h"
#include "model/transfer.h"

namespace polypath::engine {

class Lane {
 public:
  Lane(Driver& driver, const Machine& machine, const Settings& settings, Statistics& statistics);

  /// Enqueues the transfer; everything that it needs is there. After an error some of it may be
  /// queued: settle.
  void run(const Transfer& transfer, Executor executor);
  /// Creates the small things that run() needs, so that it only enqueues. Errors leave nothing
  /// behind.
  void prepare(const Transfer& transfer, Executor executor);
  /// As Hops::settle; a lane in which something may be queued for ever is not lent any more.
  [[nodiscard]] bool settle(const Transfer& transfer) noexcept;
  /// True if the streams can take the program's nodes without blocking the thread that adds them.
  [[nodiscard]] bool fits(const Program& program);
  /// The next transfer may be held in the borrower's stream: see Loan::may_hold.
  [[nodiscard]] bool may_be_held(const Program& program);

  [[nodiscard]] Hops& hops() { return hops_; }
  [[nodiscard]] const Hops& hops() const { return hops_; }
  [[nodiscard]] Loan& loan() { return loan_; }
  /// True if the lane may be lent to this stream with all that is queued in it: it has it.
  [[nodiscard]] bool is_kept_by(StreamHandle stream) const {
    return !poisoned_ && loan_.is_of(stream);
  }
  /// True if it may be lent to any stream.
  [[nodiscard]] bool is_free() const;
  /// True if nothing is queued or runs in it.
  [[nodiscard]] bool is_idle() const { return is_free() && hops_.is_idle(); }

 private:
  [[nodiscard]] std::size_t entries_of(const Program& program) const;

  Driver& driver_;
  Hops hops_;
  StreamExecutor streams_;
  GraphExecutor graphs_;
  EventSet before_graphs_;  ///< recorded in the borrower's stream
  QueueDepth depth_;
  bool own_contexts_;
  Loan loan_;
  bool poisoned_ = false;  ///< something may be queued for ever
};

/// All lanes of an engine. Not thread-safe; the engine guards it.
class Lanes {
 public:
  Lanes(Driver& driver, const Machine& machine, const Settings& settings, Statistics& statistics);

  /// The stream's own lane, else a free one, else a new one; null if there are as many as there may
  /// be and all are in use.
  [[nodiscard]] Lane* lend(StreamHandle stream);
  /// The same for a transfer of a joint plan, which counts on having its hops' streams to itself:
  /// if possible one that no other stream has had since `start_set`.
  [[nodiscard]] Lane* lend_apart(StreamHandle stream);
  void start_set() { lent_apart_.clear(); }
  /// For a transfer of a set that recurs: if possible one in which nothing runs.
  [[nodiscard]] Lane* lend_idle(StreamHandle stream);

  /// True if work in another stream's lane may wait for the program: later work in streams of ours
  /// may then wait for it, because they share queues of the hardware.
  [[nodiscard]] bool any_held_beside(StreamHandle stream) const;

  using Taken = std::vector<std::unique_ptr<Lane>>;
  /// Takes out those in which nothing is queued or runs, but not `kept` ones: destroying them does
  /// not wait.
  [[nodiscard]] Taken take_idle(const std::function<bool(const Lane&)>& kept);
  [[nodiscard]] bool empty() const { return lanes_.empty(); }
  /// True if there is one in which something runs that does not wait for its borrower.
  [[nodiscard]] bool any_ends_soon() const;

 private:
  [[nodiscard]] Lane* find_own(StreamHandle stream) const;
  [[nodiscard]] Lane* find_free(bool apart);
  [[nodiscard]] Lane* make_lane();
  [[nodiscard]] static Lane* lend_to(StreamHandle stream, Lane* lane);

  Driver& driver_;
  const Machine& machine_;
  const Settings& settings_;
  Statistics& statistics_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<const Lane*> lent_apart_;  ///< only to be compared with
};

}  // namespace polypath::engine
