#pragma once
// From a request to a plan: which paths, which shares and chunks, which executor, and why.

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plan/load.h"
#include "plan/lru_cache.h"
#include "plan/options.h"
#include "plan/plan.h"
#include "plan/single/contention.h"
#include "plan/single/optimiser.h"
#include "plan/split.h"
#include "plan/tuned.h"

namespace polypath {

struct FoundPlans;

/// Where no setting says so: smaller messages are never planned,
inline constexpr Bytes kNeverPlannedBelow = 64_KiB;
/// and these and larger ones always.
inline constexpr Bytes kAlwaysPlanned = 2_MiB;

/// Plans transfers on one machine. Not thread-safe; the engine guards it.
class Planner {
 public:
  /// Error (invalid_setting) if the settings name a path or file that cannot be used.
  Planner(const Machine& machine, const Settings& settings);

  /// The plan for `bytes` from `source` to `destination`, which harms none of the concurrent
  /// transfers (contention.h). Plans are cached: the same request beside the same transfers gives
  /// the same object.
  /// Errors (invalid_argument): no hop between the places, zero bytes, unknown or unusable paths,
  /// shares that do not add up to 1.
  PlanPointer plan(PlaceId source, PlaceId destination, Bytes bytes,
                   const PlanOptions& options = {}, const ConcurrentTransfers& concurrent = {});

  /// A plan for the same with another split, whether that is predicted to gain or not. Not cached.
  /// Nothing changes in what the plan's paths may be.
  [[nodiscard]] PlanPointer with_split(const Plan& plan, const Split& split) const;
  /// Smaller messages between the places are one native copy: the size in the settings, else the
  /// smallest size for which several paths are worth it on an idle machine, kAlwaysPlanned at most.
  /// That is found once, by a few plans, when first one of less than that is asked for: `bytes`.
  Bytes smallest_planned(PlaceId source, PlaceId destination, Bytes bytes,
                         const PlanOptions& options = {});
  /// A size below which that is known without a plan: no pair of places has a smaller one.
  [[nodiscard]] Bytes least_smallest_planned() const;

  /// Takes the results of another planner of the same machine and settings (found_plans.h) in place
  /// of searches; results that cannot be used are left out.
  void recall(const FoundPlans& found);
  /// Adds what was found so far, for transfers that nothing else is beside.
  void add_found(FoundPlans& all) const;
  /// How often something was searched for that add_found adds.
  [[nodiscard]] std::size_t searches() const { return searches_; }

  /// The paths that a plan on an idle machine may use, the direct one first. Errors as plan().
  [[nodiscard]] std::vector<Path> usable_paths(PlaceId source, PlaceId destination,
                                               const PlanOptions& options = {}) const;
  /// Why such a plan must not use a path; empty if it may.
  [[nodiscard]] std::string why_not(PlaceId source, PlaceId destination, const Path& path,
                                    const PlanOptions& options = {}) const;
  /// The time that a plan over several paths must beat to replace the native copy.
  [[nodiscard]] Seconds to_beat(const Path& direct, Bytes bytes, Seconds native,
                                BothWays both_ways) const;
  [[nodiscard]] const Predictor& predictor() const { return predictor_; }
  /// The predictor for a transfer whose mirror image is issued like that, or for a set. Threads
  /// hold each other up. Concurrent transfers recur, so that no burst credit is left.
  [[nodiscard]] const Predictor& predictor(BothWays issued) const;
  [[nodiscard]] const Machine& machine() const { return predictor_.machine(); }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] std::size_t cached_plans() const { return plans_.size(); }

 private:
  struct Request;
  using PlanKey = std::tuple<PlaceId, PlaceId, Bytes, PlanOptions, ConcurrentTransfers>;
  using SmallestKey = std::tuple<PlaceId, PlaceId, std::optional<Executor>, LeftOutRelays>;
  using RecipeKey = std::tuple<PlaceId, PlaceId, Bytes, PlanOptions, LoadSignature, Executor>;

  [[nodiscard]] PlanPointer make_plan(Request& request);
  [[nodiscard]] Draft native(const Request& request) const;
  [[nodiscard]] Draft choose(Request& request, Executor& executor);
  [[nodiscard]] Draft choose_alone(const Request& request, Executor& executor);
  [[nodiscard]] bool may_split(const Request& request) const;
  [[nodiscard]] Seconds to_beat_natively(const Request& request, Seconds native) const;
  [[nodiscard]] Draft automatic(const Request& request, Executor executor);
  [[nodiscard]] Draft recipe(const Request& request, Executor executor);
  [[nodiscard]] Optimiser optimiser(const Request& request, Executor executor, Bytes bytes) const;
  void finish(const Request& request, const Draft& chosen, Executor executor, Plan& plan) const;
  void explain(const Request& request, const Draft& chosen, Plan& plan) const;
  void explain_split(const Prediction& prediction, Plan& plan) const;

  // planner_more.cc
  void add_paths(Request& request, Draft& chosen, Executor& executor) const;
  [[nodiscard]] bool may_add_paths(const Request& request) const;
  [[nodiscard]] bool add_path(Request& request, const Path& path, Draft& chosen,
                              Executor& executor) const;
  [[nodiscard]] static Executor executor_of_more(const Request& request);
  [[nodiscard]] std::string why_no_more(const Request& request, const Draft& chosen,
                                        const Path& path) const;

  // planner_smallest.cc
  [[nodiscard]] Bytes search_smallest(Request& request);
  [[nodiscard]] std::vector<Bytes> sizes_that_may_gain(const Request& request) const;

  // planner_beside.cc
  [[nodiscard]] Load load_of(const ConcurrentTransfers& concurrent) const;
  [[nodiscard]] Draft choose_beside(Request& request, Executor& executor);
  [[nodiscard]] std::optional<Draft> split_beside(Request& request, const Together& together,
                                                  const Together::Outcome& natively);
  [[nodiscard]] std::vector<Draft> drafts_beside(const Request& request);
  static void note_harm(Request& request, const Draft& draft);
  [[nodiscard]] std::string not_beside(const Request& request, const Path& path) const;

  // planner_paths.cc
  [[nodiscard]] std::vector<Path> candidates(const Request& request) const;
  [[nodiscard]] bool is_selected(const Request& request, const Path& path) const;
  [[nodiscard]] std::string barred(const Request& request, const Path& path) const;

  // planner_fixed.cc
  [[nodiscard]] std::optional<Draft> tuned(const Request& request, Executor executor) const;
  [[nodiscard]] Draft forced(const Request& request, Executor executor) const;
  [[nodiscard]] Draft with_shares(const Request& request, const Optimiser& optimiser,
                                  const std::map<std::string, double>& shares,
                                  const std::map<std::string, int>& chunks) const;
  void check_chunks(const Request& request) const;
  void apply_chunks(const Request& request, Draft& draft) const;

  /// The machine as some transfers see it, and the predictor for those.
  struct SeenAs {
    explicit SeenAs(Machine seen) : machine(std::move(seen)), predictor(machine) {}
    Machine machine;
    Predictor predictor;
  };
  [[nodiscard]] const Predictor& predictor_beside(const Request& request) const;

  Settings settings_;
  Predictor predictor_;
  std::unique_ptr<SeenAs> lasting_;  ///< without bursts; null where there are none
  std::unique_ptr<SeenAs> held_up_;  ///< the same by threads; null where they do not
  TunedTable tuned_;
  LruCache<PlanKey, PlanPointer> plans_;
  LruCache<RecipeKey, Draft> recipes_;
  LruCache<SmallestKey, Bytes> smallest_;
  std::size_t searches_ = 0;
};

}  // namespace polypath
