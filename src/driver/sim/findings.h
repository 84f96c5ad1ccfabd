#pragma once
// What a simulated driver has found: violations of its rules, and what ran when.

#include <string>
#include <vector>

#include "driver/sim/options.h"
#include "model/fluid.h"

namespace polypath::sim {

class Findings {
 public:
  static constexpr std::size_t kMostViolations = 100;

  /// Without `traces` no spans are kept.
  explicit Findings(bool traces) : traces_(traces) {}

  void report(const std::string& violation) {
    if (violations_.size() < kMostViolations) violations_.push_back(violation);
  }
  void note_finished(const CopyLabel& label, const Activity& done) {
    if (traces_)
      spans_.push_back(
          {label, done.hop, done.bytes, done.ready, done.started, done.finished, done.gpu});
  }
  /// At most kMostViolations messages.
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }
  [[nodiscard]] const std::vector<Span>& spans() const { return spans_; }

 private:
  bool traces_;
  std::vector<std::string> violations_;
  std::vector<Span> spans_;
};

}  // namespace polypath::sim
