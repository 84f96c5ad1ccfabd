#pragma once
// Predicted time of transfers whose paths, shares and chunks are given.
//
// Three things decide it: when each copy is issued (one CPU thread, one call after another), at what
// rate each hop runs while hops share resources, and how the chunks of a staged path overlap.
// Rates: every active hop is a flow with its path's steady rate as cap; the max-min fair rates hold
// until the first path ends, then are found again without it; a hop's rate is the average over the
// path's life. With these rates each path follows the exact recursion of pipeline.h.

#include <span>
#include <vector>

#include "machine/machine.h"
#include "model/path.h"

namespace polypath {

/// How a plan runs.
enum class Executor { native, stream, graph };

const char* name_of(Executor executor);

/// A path with the chunks it carries, in order; one chunk for the direct path.
struct PathShape {
  Path path;
  std::vector<Bytes> chunks;
};

/// One transfer: its paths in the order in which their copies are issued.
struct TransferShape {
  Executor executor = Executor::native;
  std::vector<PathShape> paths;
  Bytes total() const;
};

struct Prediction {
  Seconds time;                      ///< from the call until the calling thread knows it is done
  Seconds call;                      ///< the part of it spent in the call
  std::vector<Seconds> path_finish;  ///< per path, from the call until its last byte has arrived
};

/// Predicts transfers that start together on an otherwise idle machine, or one whose resources have
/// `available` left. `slots` is the size of a staging ring.
class Predictor {
 public:
  explicit Predictor(const Machine& machine);

  [[nodiscard]] std::vector<Prediction> predict(std::span<const TransferShape> transfers,
                                                std::span<const BytesPerSecond> available,
                                                int slots) const;
  /// One transfer on an idle machine.
  [[nodiscard]] Prediction predict(const TransferShape& transfer, int slots) const;

  [[nodiscard]] const Machine& machine() const { return *machine_; }
  [[nodiscard]] const ResourceModel& resources() const { return resources_; }

 private:
  const Machine* machine_;
  ResourceModel resources_;
};

}  // namespace polypath
