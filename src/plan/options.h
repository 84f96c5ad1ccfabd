#pragma once
// What a caller may ask of a plan.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/settings.h"
#include "model/predict.h"

namespace polypath {

enum class ExecutorChoice { automatic, native, stream, graph };

/// Reads "auto", "native", "stream" or "graph"; error (invalid_argument) lists them.
ExecutorChoice parse_executor(const std::string& name);

/// Whether the same goes the other way at the same time, planned alike, and who issues it: threads
/// of one process hold each other up in the driver.
enum class BothWays { no, by_threads, by_processes };

/// Overrides of the automatic plan; default: none.
struct PlanOptions {
  ExecutorChoice executor = ExecutorChoice::automatic;
  /// Force exactly these paths ("direct", "gpu2", "host"), with the shares of the papers' closed
  /// form (001 eq. 24), which knows no contention. Empty: automatic.
  std::vector<std::string> paths;
  /// Force these shares, which must add up to 1; the names are the paths. Wins over `paths`.
  std::map<std::string, double> shares;
  /// Chunk counts per path; paths without one get the model's.
  std::map<std::string, int> chunks;

  BothWays both_ways = BothWays::no;

  [[nodiscard]] bool forced() const { return !paths.empty() || !shares.empty(); }
  auto operator<=>(const PlanOptions&) const = default;
};

/// Reads "direct=0.9,host=0.1"; error (invalid_argument) quotes the part that cannot be read.
std::map<std::string, double> parse_shares(const std::string& text);
/// Reads "host=8,gpu2=4".
std::map<std::string, int> parse_chunks(const std::string& text);

}  // namespace polypath
