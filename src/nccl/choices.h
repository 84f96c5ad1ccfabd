#pragma once
// Decides whether a call is NCCL's or ours, by the times of both when they were measured side by
// side.
//
// For each kind of call there are samples, a time of both at each of some sizes. Between two of
// them the smaller ratio counts, beyond the last it stays, up to the longest call that the samples
// speak of. Calls that were never measured are NCCL's.

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "core/units.h"
#include "nccl/call.h"

namespace polypath::nccl {

/// Calls that are taken to be as fast as each other: the operation and, where something is reduced,
/// whether that is a sum of float32, for which kernels have code of their own. A receive is of the
/// class of the send that it belongs to.
struct CallClass {
  Operation operation = Operation::all_reduce;
  bool is_usual_sum = true;
  auto operator<=>(const CallClass&) const = default;
};
CallClass class_of(const Call& call);

struct Sample {
  Bytes message;
  Seconds real, ours;
};

class Choices {
 public:
  /// Ours has to be faster by this factor: a gain within the scatter is left to NCCL. For short
  /// calls ours has to be as fast: a call that gains 1.03 to 1.1 in a stream gains 1.4 to 1.8 in a
  /// graph (results/h200x2/nccl.json).
  static constexpr double kLeastGain = 1.05, kLeastGainOfShort = 1;
  static constexpr Bytes kShort = 256_KiB;
  static constexpr Bytes kAnyLength{std::numeric_limits<std::uint64_t>::max()};
  /// Of sends, shorter ones are never measured.
  static constexpr Bytes kLeastMessage = 1_MiB;

  /// Samples come in the order of their sizes.
  void add(const CallClass& of, const Sample& sample) { samples_[of].push_back(sample); }
  /// Longer calls are NCCL's, because there was no memory to measure them.
  void end_at(Bytes longest) { longest_ = longest; }
  [[nodiscard]] Bytes longest() const { return longest_; }
  /// How much faster ours is; 0 for a call that was never measured.
  [[nodiscard]] double gain(const CallClass& of, Bytes message) const;
  [[nodiscard]] bool is_ours(const CallClass& of, Bytes message) const {
    return gain(of, message) >= (message > kShort ? kLeastGain : kLeastGainOfShort);
  }
  [[nodiscard]] const std::map<CallClass, std::vector<Sample>>& samples() const { return samples_; }

 private:
  std::map<CallClass, std::vector<Sample>> samples_;
  Bytes longest_ = kAnyLength;
};

}  // namespace polypath::nccl
