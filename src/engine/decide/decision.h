#pragma once
// How a copy is to be done. Deciding enqueues nothing; enqueuing decides nothing.

#include <memory>
#include <optional>
#include <utility>

#include "engine/call/copy_call.h"
#include "engine/learn/experience.h"
#include "engine/load/load_tracker.h"
#include "plan/single/contention.h"

namespace polypath::engine {

struct Measurement;

/// The transfers that a decision's plan takes into account.
enum class PlannedFor {
  itself,          ///< the copy, beside what is in flight
  calls_together,  ///< all that Engine::copy_many was given: by itself it might go another way
  recurring_set,   ///< what recurs with the copy, which is given its part of a joint plan
  ready_relays,    ///< the copy, over those relays only that are ready
};

/// A copy, with all that was learnt about it. It refers to the call, which has to live longer.
struct Decision {
  const CopyCall& call;
  CopyEnds ends = {};  ///< nowhere, if the copy is as one was that lately went natively
  /// Smaller copies between these ends are native without a question; zero if it was not looked up.
  Bytes native_threshold = {};
  Method means = Method::nothing;
  PlanPointer plan = nullptr;  ///< null: it needs none, or none is known yet
  PlannedFor planned_for = PlannedFor::itself;
  Contention contention = {};  ///< beside which it is planned
  /// When, by the driver's clock; none where others need not know of it.
  std::optional<Seconds> time = std::nullopt;
  FallbackReason obstacle =
      FallbackReason::none;   ///< why it is native although several paths may gain
  bool recalled = false;      ///< as the last one like it; neither memory nor plan was asked
  bool stays_native = false;  ///< whatever else is in flight: see CopyCall::cautious
  bool yields_to_other_processes = false;  ///< native, because others leave no room
  bool learnt = false;    ///< native, because the last ones like it took less so, or to compare
  bool compared = false;  ///< natively in pageable memory, to time that; may block, as windows do
  bool until_graph = false;  ///< its plan will be a graph, once that pays
  bool may_be_held = false;  ///< what is before it in its stream may wait for the program
  bool may_block = false;    ///< the driver's own copy may, so the lock is not held during it
  /// It is timed; null: it is not.
  std::shared_ptr<Measurement> measurement = nullptr;
  /// What a copy that is native only to be timed would have been: its plan over several paths, and
  /// what that takes into account. Null for any other copy.
  PlanPointer untried = nullptr;
  PlannedFor untried_for = PlannedFor::itself;

  /// It cannot be timed, so it is not native for that.
  void take_untried() {
    plan = std::exchange(untried, nullptr);
    planned_for = untried_for;
    means = Method::paths;
    learnt = false;
    measurement = nullptr;
  }
  /// Of transfers whose times are comparable.
  [[nodiscard]] TransferKind kind() const {
    return {ends.source, ends.destination, size_class(call.bytes)};
  }
  /// By its part of the joint plan for what recurs with it.
  [[nodiscard]] bool is_of_set() const { return planned_for == PlannedFor::recurring_set; }
  /// Too small to be planned.
  [[nodiscard]] bool below_threshold() const {
    return call.bytes < native_threshold && !call.options.forced();
  }
};

}  // namespace polypath::engine
