#pragma once
// Predicted time of transfers whose paths, shares and chunks are given.
//
// Three things decide it: when each copy is issued (one CPU thread, one call after another), how
// the chunks of a staged path overlap, and at what rate each path flows while hops share resources.
//
// Alone, path i ends at Fᵢ (the recursion of pipeline.h), of which bᵢ/ρᵢ is flow at its steady rate
// ρᵢ = c/(α + c/β) of the slower hop; the rest is the time sᵢ before it flows and a tail after. Not
// alone, it flows from sᵢ on at its max-min fair rate (fair_rates.h, both hops, cap ρᵢ), found anew
// whenever a path starts or ends, and ends a tail after its last byte has flowed. Without
// contention that is Fᵢ again, exactly. With contention it leaves out how latencies of one path
// leave room for others chunk by chunk, and is a few per cent off; replay() plays every copy
// (fluid.h) instead, at some tens of microseconds instead of a few.

#include <memory>
#include <span>
#include <vector>

#include "machine/machine.h"
#include "model/fluid.h"
#include "model/path.h"
#include "model/transfer.h"
#include "model/transfer_issue.h"

namespace polypath::model {

struct Prediction {
  Seconds time;                      ///< from the call until the calling thread knows it is done
  Seconds call;                      ///< the part of it spent in the call
  std::vector<Seconds> path_finish;  ///< per path, from the call until its last byte has arrived
  bool contended = false;            ///< paths got in each other's way: replay() knows better
};

/// Predicts transfers that start together, each issued by its own thread, on an otherwise idle
/// machine. `slots` is the size of a staging ring.
class Predictor {
 public:
  explicit Predictor(const Machine& machine);

  /// The calls are made at `starts`, or all at 0 if that is empty, and all times count from 0.
  [[nodiscard]] std::vector<Prediction> predict(std::span<const TransferShape> transfers, int slots,
                                                std::span<const Seconds> starts = {}) const;
  /// The same by playing every copy.
  [[nodiscard]] std::vector<Prediction> replay(std::span<const TransferShape> transfers, int slots,
                                               std::span<const Seconds> starts = {}) const;
  /// predict(), then replay() if any transfer is contended.
  [[nodiscard]] std::vector<Prediction> predict_well(std::span<const TransferShape> transfers,
                                                     int slots) const;
  /// One transfer on an idle machine, predicted well.
  [[nodiscard]] Prediction predict(const TransferShape& transfer, int slots) const;

  /// How long the call takes that issues a transfer.
  [[nodiscard]] Seconds call_time(const TransferShape& transfer, int slots) const;

  [[nodiscard]] const Machine& machine() const { return *machine_; }
  [[nodiscard]] const ResourceModel& resources() const { return resources_; }

 private:
  const Machine* machine_;
  ResourceModel resources_;
  std::unique_ptr<HopRates> rates_;  ///< remembered across replays
  std::unique_ptr<TransferIssues> issues_;
};

}  // namespace polypath::model
