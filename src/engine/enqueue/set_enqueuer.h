#pragma once
// Copies several that start together: decides about them, then carries that out, in branches of
// streams for those that need not wait for each other.

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/brief_mutex.h"
#include "engine/decide/set_decider.h"
#include "engine/decide/set_decision.h"
#include "engine/enqueue/enqueuer.h"
#include "engine/enqueue/pageable_enqueuer.h"
#include "engine/enqueue/piece_runner.h"
#include "engine/execute/lanes.h"
#include "engine/execute/side_streams.h"

namespace polypath::engine {

/// Thread-safe: takes `mutex`, the engine's, but not while the driver may block.
class SetEnqueuer {
 public:
  SetEnqueuer(BriefMutex& mutex, Lanes& lanes, SideStreams& side_streams, SetDecider& decider,
              Enqueuer& enqueuer, PageableEnqueuer& pageable, PieceRunner& pieces);

  /// See Engine::copy_many.
  std::vector<CopyResult> copy(std::span<const CopyCall> calls, std::size_t* enqueued);
  /// See Engine::take_batch.
  [[nodiscard]] bool take_batch(std::span<const CopyCall> calls);

 private:
  /// A set on its way.
  struct Progress {
    SetDecision many;
    SideStreams::Lent sides = {};         ///< by branch
    std::vector<std::size_t> order = {};  ///< of issue, by number of the call
    std::size_t made = 0;                 ///< of them
    std::vector<CopyResult> results = {};
    std::optional<CopyCall> beside = std::nullopt;  ///< the present one, if it is in a branch

    [[nodiscard]] std::size_t number() const { return order[made]; }
    void take(CopyResult result) { results[order[made++]] = std::move(result); }
    /// So many calls, from the first one asked for on, are enqueued.
    [[nodiscard]] std::size_t enqueued() const;
  };

  [[nodiscard]] CopyResult enqueue_piece(SetDecision& many, std::size_t number);
  void begin(Progress& set);
  void fork(Progress& set);
  [[nodiscard]] static std::vector<std::size_t> order_of(const SetDecision& many);
  [[nodiscard]] const CopyCall& next_call(Progress& set) const;
  [[nodiscard]] std::optional<Decision> enqueue_until_blocking(Progress& set);

  BriefMutex& mutex_;
  Lanes& lanes_;
  SideStreams& side_streams_;
  SetDecider& decider_;
  Enqueuer& enqueuer_;
  PageableEnqueuer& pageable_;
  PieceRunner& pieces_;
};

}  // namespace polypath::engine
