#pragma once
// Chooses algorithm, tuning and executor: those that end first by the timeline.
//
// For each algorithm pieces are halved from the largest that a slot holds as long as that gains,
// each with messages over one path and over several, by streams and as a graph. The prediction is
// that of model/timeline.h, with every call, wait and reduction in it.
//
// Choosing takes as long for large messages as for small ones, by these means. Pieces repeat: once
// the first are under way, each one more takes as long as the one before. So with pieces of p bytes
// two smaller messages of s and S bytes are played, of so many pieces each, and
//
//   T(N) = T(S) + (N - S)/(S - s)·(T(S) - T(s))
//
// An algorithm that cannot win is not played: the algorithms are taken in the order of the least
// time that the machine's resources leave them (model/program_bound.h), kernels first, each with
// its largest pieces; then smaller ones are tried, of the algorithms that are best by then first.
// Nor is one played to the end whose first pieces, with what links and calls need for the others,
// take too long, nor pieces that need too many calls (hopeless.cc).
// How messages are divided among paths is a share program's answer (Routes), which only the play of
// the whole judges; the first pieces tell whether they gain. Halvings end where the last one has
// gained too little for the next ones to win by; at last pieces of 3/4 and 3/2 are tried of what is
// best. Algorithms that write the same program are played once. After 12 000 nodes nothing else is
// tried.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "collective/algorithms/algorithm.h"
#include "collective/choose/twins.h"
#include "collective/division/projection.h"
#include "collective/program/collective_program.h"
#include "collective/program/routes.h"

namespace polypath::collective {

/// Whether messages may be split over paths. Several: as joint plans divide them, which takes up to
/// a second to plan.
enum class PathChoice { any, one, several };

/// The caller's options.
struct CollectiveOptions {
  std::optional<Executor> executor = std::nullopt;  ///< stream or graph; none: whichever is best
  PathChoice paths = PathChoice::any;
  std::vector<std::string> algorithms = {};  ///< that may be used; empty: all
  bool private_memory = false;               ///< as in Tuning
  bool divided = false;  ///< among ranks of their own; they are, too, if memory is private
  /// Algorithms that reduce in another order than the fixed one may be chosen: sums and products of
  /// floating-point numbers then have bits that depend on the size and the machine. Those that are
  /// named may always be.
  bool any_order = false;
  bool kernels = true;  ///< those that are all kernel may be used
  bool copies = true;   ///< those that are not may be
  /// How long a rank waits for the others to come, where all have to register their memory; none:
  /// for a quarter of what the call takes, and as long as its own GPU has work left.
  std::optional<Seconds> agreement_timeout = std::nullopt;
  unsigned multiprocessors = 0;  ///< of kernels, as Tuning has them
  /// Longer calls of ranks are made in rounds of so much (rounds.h).
  Bytes at_once = 2_GiB;
};

/// True if each rank runs a part of its own.
inline bool are_divided(const CollectiveOptions& options) {
  return options.divided || options.private_memory;
}

/// How ranks of their own await each other in programs of such calls.
inline EntryAwaits entry_awaits_of(Executor executor, Collective collective) {
  const bool at_first = executor == Executor::graph && reduces(collective);
  return at_first ? EntryAwaits::at_first : EntryAwaits::where_needed;
}

/// The best that an algorithm can do.
struct CollectiveDraft {
  const Algorithm* algorithm = nullptr;
  Tuning tuning;
  Executor executor = Executor::stream;
  Seconds predicted;
};

/// The choice about one algorithm, and its reason.
struct AlgorithmDecision {
  CollectiveDraft draft;
  bool chosen = false;
  bool at_least = false;  ///< `predicted` is a least time: it could not win, and was not played
  std::string reason;
};

/// A choice: the algorithms that do the collective, the fastest first.
struct CollectivePlan {
  CollectiveRequest request;
  std::vector<AlgorithmDecision> decisions;
  std::shared_ptr<const CollectiveProgram> program;  ///< of the first; none of a bare choice

  [[nodiscard]] const CollectiveDraft& chosen() const { return decisions.front().draft; }
};

/// Plans collectives on one machine. Not thread-safe.
class CollectivePlanner {
 public:
  /// Error (invalid_setting) as of Planner.
  CollectivePlanner(const Machine& machine, const Settings& settings);

  /// Errors (invalid_argument): as check(); algorithms that are unknown or do not do it.
  [[nodiscard]] CollectivePlan plan(const CollectiveRequest& request,
                                    const CollectiveOptions& options = {});
  /// The same without the program, which of a large message is long.
  [[nodiscard]] CollectivePlan choose(const CollectiveRequest& request,
                                      const CollectiveOptions& options = {});
  /// Nodes of programs that were played, or judged like that, for the choices made so far.
  [[nodiscard]] std::size_t played() const { return played_; }

 private:
  static constexpr double kClearLoss = 1.02;  ///< smaller pieces do not make up for more

  /// How long the calls of an algorithm's graph take: of a node, and of all in pieces of a byte.
  struct GraphCalls {
    Seconds of_node = {}, of_byte = {};

    [[nodiscard]] Seconds in_pieces_of(Bytes piece) const { return of_byte * (1 / piece.real()); }
  };
  /// A variant of an algorithm, and the least time that it takes over one path, and over several.
  struct Candidate {
    CollectiveDraft draft;
    Seconds least, least_by_any_way;
    Seconds calls = {};  ///< of all of it, as a graph
    GraphCalls graph_calls = {};
    std::size_t nodes = 0;  ///< of a program with one piece for each rank

    /// Smaller pieces need more calls.
    [[nodiscard]] Seconds least_calls() const {
      return graph_calls.in_pieces_of(draft.tuning.piece);
    }
  };
  /// An algorithm on its way to a decision.
  struct Entry {
    std::vector<Candidate> candidates;  ///< by mode, the usual one first, and radix; at least one
    double weight = 1;                  ///< its times count so much,
    Seconds more;                       ///< with what they do not have
    AlgorithmDecision decision;

    [[nodiscard]] Seconds counted() const { return counted(decision.draft.predicted); }
    [[nodiscard]] Seconds counted(Seconds time) const { return (time + more) * weight; }
    /// The time that counts as much as `best`.
    [[nodiscard]] Seconds to_beat(Seconds best) const { return best * (1 / weight) - more; }
    [[nodiscard]] Seconds least() const;
    /// Its candidates, those that links allow the least time first.
    [[nodiscard]] std::vector<Candidate*> by_least();
    /// Of those of one mode; infinite if there is none.
    [[nodiscard]] Seconds least(const SendMode& mode) const;
    /// False of more trees that cannot gain.
    [[nodiscard]] bool is_worth_packing(int radix, const SendMode& mode,
                                        const CollectiveRequest& request) const;
    /// False of one that links keep busy for too long.
    [[nodiscard]] bool may_gain(const Candidate& candidate, const CollectiveRequest& request) const;
    /// With calls: which is nearer to what it takes.
    [[nodiscard]] Seconds estimate() const;
    [[nodiscard]] Seconds least_by_any_way() const;
    static void sort_by_estimate(std::vector<Entry>& entries);
    static void sort_by_time(std::vector<Entry>& entries, Seconds best);
  };
  /// Of a search: no less time is possible, more ends it, and what has to be beaten.
  struct Limits {
    Seconds least, give_up, to_beat;
    GraphCalls calls = {};  ///< none: they limit nothing
  };
  /// A request and what stands for it: two smaller ones, or itself alone.
  struct Sample {
    CollectiveRequest smaller, larger;
    double beyond = 0;  ///< (N - S)/(S - s); 0: `larger` is the request itself

    /// T(N) of something that takes so long for a request.
    template <class TimeOf>
    [[nodiscard]] Seconds time_by(const TimeOf& time_of) const {
      const Seconds time = time_of(larger);
      return beyond == 0 ? time : time + (time - time_of(smaller)) * beyond;
    }
  };

  [[nodiscard]] std::vector<Entry> entries_of(const CollectiveRequest& request,
                                              const CollectiveOptions& options);
  void add_candidates(Entry& entry, const Algorithm& algorithm, const CollectiveRequest& request,
                      const CollectiveOptions& options, const SendMode& mode);
  [[nodiscard]] Candidate candidate_of(const Algorithm& algorithm, int radix, const SendMode& mode,
                                       const CollectiveRequest& request,
                                       const CollectiveOptions& options);
  void try_one_path(std::vector<Entry>& entries, const CollectiveRequest& request,
                    const CollectiveOptions& options, Seconds& best);
  void try_largest_piece(Entry& entry, const CollectiveRequest& request,
                         const CollectiveOptions& options, Seconds to_beat);
  void try_pieces(Entry& entry, const CollectiveRequest& request, const CollectiveOptions& options,
                  Seconds to_beat);
  void try_several_paths(AlgorithmDecision& decision, const std::vector<Candidate>& candidates,
                         const CollectiveRequest& request, const CollectiveOptions& options,
                         Seconds to_beat);
  [[nodiscard]] bool may_gain_by_paths(CollectiveDraft draft, const CollectiveRequest& request,
                                       const CollectiveOptions& options, Seconds give_up);
  [[nodiscard]] CollectiveDraft best_piece(CollectiveDraft draft, const CollectiveRequest& request,
                                           const CollectiveOptions& options, const Limits& limits);
  /// By its first pieces, and what links and calls need for the others.
  [[nodiscard]] bool is_hopeless(const CollectiveDraft& draft, const Candidate& candidate,
                                 const CollectiveRequest& request, const CollectiveOptions& options,
                                 Seconds to_beat);
  /// In pieces so large, or smaller ones.
  [[nodiscard]] bool needs_too_many_calls(const CollectiveDraft& draft,
                                          const CollectiveRequest& request, const GraphCalls& calls,
                                          Seconds most);
  void try_between_halvings(Entry& entry, const CollectiveRequest& request,
                            const CollectiveOptions& options);
  [[nodiscard]] CollectiveDraft by_best_executor(const CollectiveDraft& played,
                                                 const CollectiveRequest& request,
                                                 const CollectiveOptions& options,
                                                 const Limits& limits);
  /// What predictions are known by.
  using Key = std::tuple<const Algorithm*, Tuning, Executor>;
  [[nodiscard]] Seconds predict(const CollectiveDraft& draft, const CollectiveRequest& request,
                                const CollectiveOptions& options);
  /// The same program is played once.
  [[nodiscard]] Seconds play(const CollectiveRequest& request, Executor executor,
                             const Program& program, bool divided);
  /// Of the same draft in pieces twice as large, if that has made the same program.
  [[nodiscard]] std::optional<Seconds> time_of_same_program(const CollectiveDraft& draft,
                                                            const CollectiveRequest& request);
  [[nodiscard]] const Program& program_for(const CollectiveDraft& draft,
                                           const CollectiveRequest& request);
  [[nodiscard]] Sample sample(const CollectiveRequest& request, const CollectiveDraft& draft) const;

  Machine machine_;
  Settings settings_;
  HopRates rates_;
  Routes routes_;
  /// Of the choice being made, by algorithm, tuning and message: both executors run the same ones.
  std::map<std::tuple<const Algorithm*, Tuning, std::uint64_t>, Program> programs_;
  std::map<std::pair<const Program*, Executor>, Seconds> plays_;  ///< of these
  std::map<Variant, std::size_t> nodes_;                          ///< as Candidate
  std::map<Key, Seconds> predictions_;                            ///< of the same
  Twins twins_;
  std::size_t played_ = 0, most_played_ = 0;  ///< in all so far; until the search has to end
};

}  // namespace polypath::collective
