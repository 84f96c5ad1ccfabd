#pragma once
// One rank's end of collectives, wherever the ranks are: on one node they reach each other's memory
// (NodeCollectives), on several they also send messages (InternodeCollectives). The interfaces for
// programs use this one.

#include <optional>
#include <string>

#include "collective/choose/choose.h"
#include "collective/program/call.h"
#include "collective/rank/persistent_call.h"
#include "communicator/communicator.h"

namespace polypath::collective {

/// The choice made for a call.
struct ChosenWay {
  std::string algorithm;
  Executor executor = Executor::stream;
  Bytes piece;
  bool several_paths = false;
  std::optional<Seconds> predicted;  ///< none among nodes, where nothing is predicted
};

/// Not thread-safe. All ranks make the same calls in the same order.
class Collectives {
 public:
  Collectives() = default;
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;
  /// As close(), without its errors. Work that cannot be waited for keeps its memory.
  virtual ~Collectives() = default;

  [[nodiscard]] virtual Communicator& communicator() const = 0;
  [[nodiscard]] int rank() const { return communicator().rank(); }
  [[nodiscard]] int size() const { return communicator().size(); }
  [[nodiscard]] int nodes() const { return communicator().nodes().count(); }

  /// As that of a communicator, for the calls from now on.
  virtual void set_timeout(Seconds timeout) = 0;
  /// The options for choosing the following calls; the same at all ranks. For measurements.
  virtual void choose_from(const CollectiveOptions& options) = 0;

  /// Enqueues the rank's part on `stream`, one of its GPU, behind the work there; later work comes
  /// after all that touches its memory. The first call of each kind and size waits for the ranks of
  /// the node. Errors: invalid_argument for a call that cannot be done, or if the ranks' calls
  /// differ; communicator after an abort; those of the driver.
  virtual void run(const CollectiveCall& call, StreamHandle stream) = 0;
  /// The same, with what the call has found out before.
  virtual void run(PersistentCall& call, StreamHandle stream) { run(call.call(), stream); }
  /// Makes what such calls need, and enqueues nothing. Waits for the ranks of the node.
  virtual void prepare(const CollectiveCall& call) = 0;
  /// For a call that is prepared.
  [[nodiscard]] virtual ChosenWay chosen(const CollectiveCall& call) = 0;

  /// Of the threads that call it, not of streams.
  virtual void barrier() = 0;
  /// Later work on `stream` comes after all that was in the other ranks' streams when they called
  /// it. Waits for other ranks only the first time. Errors: as run().
  virtual void barrier(StreamHandle stream) = 0;
  /// As barrier(), and until no message between nodes is under way that an earlier call of any rank
  /// needs. Errors: that of an abort.
  virtual void await_messages() { barrier(); }

  /// Waits for queued work. Errors: that of an abort, after which outputs are not defined; those of
  /// the driver.
  virtual void synchronize() = 0;
  /// True once nothing is queued.
  [[nodiscard]] virtual bool is_done() = 0;
  /// Ends this rank together with all others, once queued work is over; it makes no more calls.
  /// Errors: the problem that kept any rank from ending well, reported at all ranks: that of an
  /// abort, those of the driver.
  virtual void close() = 0;
  /// Ends it and waits for queued work, but for no other rank: where all have ended together by
  /// other means, or something has failed.
  virtual void leave() noexcept = 0;
};

}  // namespace polypath::collective
