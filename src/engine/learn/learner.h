#pragma once
// Learns from transfers: those under way are timed, and their times are experience for the next
// ones, which is stored for later processes.

#include <memory>
#include <vector>

#include "core/background.h"
#include "core/settings.h"
#include "driver/driver.h"
#include "engine/execute/stopwatch.h"
#include "engine/learn/experience.h"
#include "engine/learn/experience_keeper.h"
#include "engine/learn/measurement.h"
#include "engine/learn/way_times.h"
#include "engine/planning/plans.h"

namespace polypath::engine {

/// Not thread-safe; the engine guards it.
class Learner {
 public:
  /// Stores experience in `keeper`, now and then by `background`; without these, not or only at
  /// the end.
  Learner(Driver& driver, const Settings& settings, Plans& plans,
          std::shared_ptr<ExperienceKeeper> keeper, Background* background);

  /// Starts from the experience that is stored.
  void recall();
  /// Stores the experience if it has changed since the last time: a file may be written.
  void keep();

  /// Learns from the transfers that are over. Does not wait: timings that are not complete yet are
  /// read at a later copy.
  void read(Seconds now);
  /// False while enough transfers are timed.
  [[nodiscard]] bool may_time() const;
  /// About the next transfer of a kind that has the machine to itself; counts it.
  [[nodiscard]] Advice suggest(const TransferKind& kind, const Plan& plan);
  /// Times of transfers over several paths that meet one of the other way, and of native ones.
  [[nodiscard]] WayTimes& exchanges() { return exchanges_; }

  /// To time a transfer that is planned like that, on a stream, at `now`.
  [[nodiscard]] std::shared_ptr<Measurement> measure(const TransferKind& kind, const Advice& advice,
                                                     const PlanPointer& plan, StreamHandle stream,
                                                     Seconds now);
  /// The transfer has been enqueued.
  void add(std::shared_ptr<Measurement> measurement);
  /// Another transfer has been, on that stream: a timed one must have the machine to itself, unless
  /// it is one of an exchange.
  void disturb(StreamHandle stream);

 private:
  void learn_from(const Measurement& measurement, const Timing& timing);
  void keep_in_background();

  Driver& driver_;
  bool learns_;
  Plans& plans_;
  std::shared_ptr<ExperienceKeeper> keeper_;
  Background* background_;
  Experience experience_;
  WayTimes exchanges_;
  TimingEvents timing_events_;
  std::vector<std::shared_ptr<Measurement>> measurements_;  ///< under way
  int kept_changes_ = 0;  ///< of the experience that the keeper has
  Seconds kept_at_{-1e9};
};

}  // namespace polypath::engine
