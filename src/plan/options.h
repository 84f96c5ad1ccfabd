#pragma once
// Options of a plan.

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/settings.h"
#include "model/predict.h"

namespace polypath::plan {

/// Reads "native", "stream" or "graph", and "auto", which is none of them; error (invalid_argument)
/// lists them.
std::optional<Executor> parse_executor(const std::string& name);

/// Whether the same goes the other way at the same time, planned alike, and which threads issue it:
/// threads of one process hold each other up in the driver, and one thread issues it after this
/// one.
enum class BothWays { no, by_threads, by_processes, by_one_thread };

/// A set of places, cheap to copy and to compare. The last of its bits stands for all places from
/// the 64th on: in it are all of them or none.
class PlaceSet {
 public:
  void insert(PlaceId place) { bits_ |= bit(place); }
  [[nodiscard]] bool contains(PlaceId place) const { return (bits_ & bit(place)) != 0; }
  [[nodiscard]] bool empty() const { return bits_ == 0; }
  PlaceSet& operator|=(const PlaceSet& others) {
    bits_ |= others.bits_;
    return *this;
  }
  auto operator<=>(const PlaceSet&) const = default;

 private:
  [[nodiscard]] static std::uint64_t bit(PlaceId place) {
    return std::uint64_t{1} << std::min<std::size_t>(place.index(), 63);
  }

  std::uint64_t bits_ = 0;
};

/// Why the engine leaves a place out as a relay.
enum class LeftOutBecause {
  exclusive_compute_mode,     ///< a context there would take the GPU away from other processes
  preparation_failed,         ///< its context, streams or staging memory could not be had
  must_not_wait_for_program,  ///< what is queued there would wait for the program's own work
  waits_for_reads,            ///< what goes there would wait while the receiver's GPU reads
  being_prepared,             ///< other relays are ready before
};
inline constexpr std::size_t kLeftOutReasons = 5;

/// The reason in words, as the rest of "left out by the engine: ...".
const char* describe(LeftOutBecause why);

/// Places that must not be staging places, and why.
class LeftOutRelays {
 public:
  void add(PlaceId place, LeftOutBecause why) { sets_[index(why)].insert(place); }
  /// Nothing where the place may be a relay. Of several reasons it is the first in their order.
  [[nodiscard]] std::optional<LeftOutBecause> reason(PlaceId place) const;
  [[nodiscard]] bool empty() const;
  auto operator<=>(const LeftOutRelays&) const = default;

 private:
  [[nodiscard]] static std::size_t index(LeftOutBecause why) {
    return static_cast<std::size_t>(why);
  }

  std::array<PlaceSet, kLeftOutReasons> sets_;
};

/// Overrides of the automatic plan; default: none.
struct PlanOptions {
  std::optional<Executor> executor = std::nullopt;  ///< none: whichever is best
  /// Force exactly these paths ("direct", "gpu2", "host"), with the shares of the papers' closed
  /// form (001 eq. 24), which knows no contention. Empty: automatic.
  std::vector<std::string> paths;
  /// Force these shares, which must add up to 1; the names are the paths. Wins over `paths`.
  std::map<std::string, double> shares;
  /// Chunk counts per path; paths without one get the model's.
  std::map<std::string, int> chunks;

  BothWays both_ways = BothWays::no;
  /// More may follow than is known: a plan beside others leaves paths to them that only gain, and
  /// takes those that repair what others in flight have taken from it.
  bool followers_unknown = false;
  /// No path is staged there, not even one that is asked for: the plan is then one native copy.
  LeftOutRelays left_out;

  [[nodiscard]] bool forced() const { return !paths.empty() || !shares.empty(); }
  /// The names of the forced paths; none if nothing is forced.
  [[nodiscard]] std::vector<std::string> path_names() const {
    if (shares.empty()) return paths;
    std::vector<std::string> names;
    for (const auto& [name, share] : shares) names.push_back(name);
    return names;
  }
  /// The caller says in words what the plan has to be, apart from its executor.
  [[nodiscard]] bool asks_for_paths() const { return forced() || !chunks.empty(); }
  auto operator<=>(const PlanOptions&) const = default;
};

}  // namespace polypath::plan
