#include "plan/pieces/piece_planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "model/timeline.h"
#include "plan/pieces/piece_kernels.h"
#include "plan/pieces/piece_shares.h"

namespace polypath::plan {
namespace {

// The chunk sizes that staged paths gather: less costs events, more lets the second hop start
// later.
constexpr Bytes kChunks[] = {256_KiB, 512_KiB, 1_MiB, 2_MiB, 4_MiB};
constexpr int kLevellings = 4;
// Of copies that follow each other in a stream an H200 spends 2.0 to 2.5 us beside their bytes, of
// the 3.3 that one by itself does (results/h200x2/many.json).
constexpr double kLatencyInARow = 0.7;

// To half an octave: 2, 3, 4, 6, 8, ...
std::uint64_t rounded(std::uint64_t number) {
  const std::uint64_t octave = std::bit_floor(number);
  if (number * 4 < octave * 5 || octave == 1) return octave;
  return number * 4 < octave * 7 ? octave + octave / 2 : octave * 2;
}

Bytes sum_of(std::span<const Bytes> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), Bytes{},
                         [](Bytes sum, Bytes size) { return sum + size; });
}

PathDecision decision_of(const Machine& machine, const PathShape& part, Bytes all,
                         bool by_kernels) {
  PathDecision decision;
  decision.path = part.path;
  decision.name = name_of(machine, part.path);
  decision.included = true;
  for (const Bytes chunk : part.chunks) decision.bytes += chunk;
  decision.share = decision.bytes.real() / all.real();
  decision.chunks = static_cast<int>(part.chunks.size());
  decision.reason = fmt::format("carries {:.1f} % of the bytes, whole pieces{}",
                                100 * decision.share, by_kernels ? ", by kernels" : "");
  return decision;
}

// Equal for plans that take the same of the machine; pieces never become a graph.
std::string describe_structure(const TransferShape& shape, bool by_kernels) {
  std::string text = by_kernels ? "kernels" : "pieces";
  for (const PathShape& part : shape.paths) {
    text += fmt::format(";{}.{}", part.path.first.value, part.path.second.value);
    for (const Bytes chunk : part.chunks) text += fmt::format("*{}", chunk.value);
  }
  return text;
}

// Everything over one path.
PieceSplit only(const Path& path) { return {{path}, {1}, {}, {}, {}}; }

// The requested copies, before neighbours became one piece.
std::vector<Bytes> copies_of(const PieceRequest& request) {
  const Bytes size{std::max<std::uint64_t>(1, request.mean.value / request.copies_per_piece)};
  return std::vector(request.pieces * request.copies_per_piece, size);
}

Machine with_latencies(Machine machine, double times) {
  for (Hop& hop : machine.hops) hop.latency = hop.latency * times;
  return machine;
}

// Whose copies cost what those of a batch do.
Machine with_batches(Machine machine) {
  machine.costs.copy = machine.driver.batch_copy;
  for (Hop& hop : machine.hops) hop.latency = machine.driver.batch_latency;
  return machine;
}

Program program_of(const Machine& machine, std::span<const Bytes> sizes, const DealtPieces& dealt,
                   int slots, std::optional<PlaceId> issuer) {
  if (issuer) return kernels_of(machine, sizes, dealt, *issuer);
  return program_of(machine, sizes, dealt, slots);
}

std::shared_ptr<Plan> plan_of_pieces(const Machine& machine, const PieceSplit& split,
                                     std::optional<PlaceId> issuer, std::span<const Bytes> sizes,
                                     int slots) {
  const DealtPieces dealt = deal(sizes, split);
  const Path& path = dealt.paths.front();
  auto plan = std::make_shared<Plan>();
  plan->source = machine.hop(path.first).source;
  plan->destination = machine.hop(path.staged() ? path.second : path.first).destination;
  plan->bytes = sum_of(sizes);
  plan->shape = shape_of(sizes, dealt);
  plan->program = program_of(machine, sizes, dealt, slots, issuer);
  plan->program.assign_events();
  plan->structure = describe_structure(plan->shape, issuer.has_value());
  for (const PathShape& part : plan->shape.paths)
    plan->decisions.push_back(decision_of(machine, part, plan->bytes, issuer.has_value()));
  return plan;
}

}  // namespace

PieceRequest piece_request(PlaceId source, PlaceId destination, std::size_t pieces, Bytes bytes,
                           std::size_t copies) {
  return {.source = source,
          .destination = destination,
          .pieces = std::min<std::size_t>(rounded(pieces), kMostPlayed),
          .mean = {std::max<std::uint64_t>(1, rounded(bytes.value / pieces))},
          .copies_per_piece = std::bit_floor(copies / pieces)};
}

PlanPointer plan_of(const Machine& machine, const PieceRecipe& recipe, std::span<const Bytes> sizes,
                    int slots) {
  auto plan = plan_of_pieces(machine, recipe.split, recipe.issuer, sizes, slots);
  const double larger = plan->bytes.real() / recipe.plan->bytes.real();
  plan->predicted = recipe.fixed + (recipe.plan->predicted - recipe.fixed) * larger;
  plan->native_predicted = recipe.plan->native_predicted * larger;
  return plan;
}

PlanPointer native_plan_of(const PieceRecipe& recipe, Bytes bytes) {
  auto plan = std::make_shared<Plan>();
  plan->source = recipe.plan->source;
  plan->destination = recipe.plan->destination;
  plan->bytes = bytes;
  plan->shape = {Executor::native, {{recipe.direct, {bytes}}}};
  plan->native_predicted =
      recipe.plan->native_predicted * (bytes.real() / recipe.plan->bytes.real());
  plan->predicted = plan->native_predicted;
  return plan;
}

struct PiecePlanner::Problem {
  std::vector<Path> paths;
  std::vector<Bytes> sizes;
  std::optional<PlaceId> issuer = {};
  bool plan_copies = true;
};

struct PiecePlanner::Draft {
  PieceSplit split;
  std::optional<PlaceId> issuer = {};  // it is one of kernels
  Seconds time = Seconds::infinity();
  std::vector<Seconds> finish = {};  // by path of the split; zero where it carries nothing

  void play(const Machine& machine, const HopRates& rates, std::span<const Bytes> sizes, int slots);
  void level();

 private:
  [[nodiscard]] Seconds join(const Machine& machine, const Path& path) const;
};

// From the end of a path until the caller's stream goes on.
Seconds PiecePlanner::Draft::join(const Machine& machine, const Path& path) const {
  if (!issuer) return path.staged() ? join_latency(machine, path) : Seconds{};
  const PlaceId carrier = carrier_of(machine, path).value_or(PlaceId{});
  return carrier == *issuer ? Seconds{} : machine.wait_latency(carrier, *issuer);
}

// Finds the times.
void PiecePlanner::Draft::play(const Machine& machine, const HopRates& rates,
                               std::span<const Bytes> sizes, int slots) {
  const DealtPieces dealt = deal(sizes, split);
  const Program program = program_of(machine, sizes, dealt, slots, issuer);
  const IssueTimes issue = issue_times(machine, program, Executor::stream);
  Timeline timeline(machine, rates);
  const auto activities = timeline.add(program, issue, {});
  timeline.play();
  std::vector<Seconds> ends(dealt.paths.size());
  for (std::size_t i = 0; i < activities.size(); ++i) {
    Seconds& end = ends[static_cast<std::size_t>(program.nodes()[i].path)];
    end = std::max(end, activities[i]->finished);
  }
  time = issue.done;
  finish.assign(split.paths.size(), {});
  for (std::size_t p = 0; p < ends.size(); ++p) {
    ends[p] += join(machine, dealt.paths[p]);
    const auto path = std::find(split.paths.begin(), split.paths.end(), dealt.paths[p]);
    finish[static_cast<std::size_t>(path - split.paths.begin())] = ends[p];
    time = std::max(time, ends[p]);
  }
  time += machine.costs.synchronize;
}

// Moves bytes from late paths to early ones.
void PiecePlanner::Draft::level() {
  double sum = 0;
  for (std::size_t path = 0; path < finish.size(); ++path) {
    if (finish[path].value > 0) split.shares[path] *= time / finish[path];
    sum += split.shares[path];
  }
  for (double& share : split.shares) share /= sum;
}

PiecePlanner::PiecePlanner(Planner& planner)
    : planner_(planner),
      rates_(planner.machine()),
      recipes_(static_cast<std::size_t>(planner.settings().plan_cache)) {}

PieceRecipePointer PiecePlanner::recipe(const PieceRequest& request) {
  if (const PieceRecipePointer* cached = recipes_.find(request)) return *cached;
  return recipes_.insert(request, make(request));
}

// It has to gain whether or not copies in a row overlap each other's latencies: a split that only
// saves latency might be the slower one.
PieceRecipePointer PiecePlanner::make(const PieceRequest& request) {
  PlanOptions options;
  options.left_out = request.left_out;
  const Problem problem{planner_.usable_paths(request.source, request.destination, options),
                        std::vector(request.pieces, request.mean), request.issuer,
                        request.plan_copies};
  const Path& direct = problem.paths.front();
  const int slots = planner_.settings().staging_slots;
  const Draft draft = best(problem);
  auto plan = plan_of_pieces(planner_.machine(), draft.split, draft.issuer, problem.sizes, slots);
  plan->predicted = draft.time;
  plan->native_predicted = time_natively(request, direct);
  const double least = request.batched ? planner_.machine().driver.least_gain_batch : 0;
  const auto gains = [&](Seconds time, Seconds natively) {
    return time < planner_.to_beat(direct, plan->bytes, natively, BothWays::no) &&
           time * (1 + least) < natively;
  };
  const Machine overlapping = with_latencies(planner_.machine(), kLatencyInARow);
  Draft overlapped = draft, natively{.split = only(direct)};
  overlapped.play(overlapping, rates_, problem.sizes, slots);
  natively.play(request.batched ? with_batches(overlapping) : overlapping, rates_,
                copies_of(request), slots);
  if (!gains(draft.time, plan->native_predicted) || !gains(overlapped.time, natively.time)) {
    plan->predicted = plan->native_predicted;
    plan->shape.executor = Executor::native;
  }
  const Seconds fixed = draft.issuer ? time_without_bytes(draft, problem) : Seconds{};
  return std::make_shared<PieceRecipe>(
      PieceRecipe{draft.split, draft.issuer, std::move(plan), direct, fixed});
}

// Of as many pieces as small as can be.
Seconds PiecePlanner::time_without_bytes(Draft draft, const Problem& problem) {
  draft.play(planner_.machine(), rates_, std::vector(problem.sizes.size(), Bytes{1}),
             planner_.settings().staging_slots);
  return draft.time;
}

// All copies that were asked for, one after another.
Seconds PiecePlanner::time_natively(const PieceRequest& request, const Path& direct) {
  Draft draft{.split = only(direct)};
  const Machine& machine = planner_.machine();
  draft.play(request.batched ? with_batches(machine) : machine, rates_, copies_of(request),
             planner_.settings().staging_slots);
  return draft.time;
}

void PiecePlanner::play(const Problem& problem, Draft& draft) {
  draft.play(planner_.machine(), rates_, problem.sizes, planner_.settings().staging_slots);
}

// Kernels have to be worth what they take of the program's own: they run where its kernels do.
PiecePlanner::Draft PiecePlanner::best(const Problem& problem) {
  Draft by_copies = best_by_copies(problem);
  const auto by_kernels = best_by_kernels(problem);
  const double gain = 1 + planner_.settings().min_gain;
  return by_kernels && by_kernels->time * gain < by_copies.time ? *by_kernels : by_copies;
}

std::optional<PiecePlanner::Draft> PiecePlanner::best_by_kernels(const Problem& problem) {
  const std::vector<Path> paths = carried_paths(planner_.machine(), problem.paths);
  if (!problem.issuer || paths.empty() || paths.front() != problem.paths.front())
    return std::nullopt;
  Draft best{.split = only(paths.front()), .issuer = problem.issuer};
  play(problem, best);
  Draft draft{.split = {paths, {}, {}, problem.sizes.front(), {}}, .issuer = problem.issuer};
  draft.split.shares = carried_shares(planner_.machine(), planner_.predictor().resources(), paths,
                                      problem.sizes.front(), sum_of(problem.sizes),
                                      static_cast<std::size_t>(planner_.settings().max_paths));
  play_levels(problem, std::move(draft), best);
  return best;
}

void PiecePlanner::play_levels(const Problem& problem, Draft draft, Draft& best) {
  for (int round = 0; round < kLevellings; ++round) {
    play(problem, draft);
    if (draft.time < best.time) best = draft;
    draft.level();
  }
}

// Directly, which is not as asked for where neighbours have become one piece; or by shares.
PiecePlanner::Draft PiecePlanner::best_by_copies(const Problem& problem) {
  const Settings& settings = planner_.settings();
  const Hop& direct = planner_.machine().hop(problem.paths.front().first);
  const Bytes latency{static_cast<std::uint64_t>(direct.latency.value * direct.bandwidth.value)};
  Draft best{.split = only(problem.paths.front())};
  play(problem, best);
  if (problem.paths.size() == 1 || !problem.plan_copies) return best;
  for (const Bytes chunk : kChunks) {
    Draft draft{.split = {problem.paths,
                          {},
                          std::min(chunk, settings.staging_slot),
                          settings.staging_slot,
                          latency}};
    draft.split.shares = piece_shares(
        planner_.machine(), planner_.predictor().resources(), problem.paths, problem.sizes.front(),
        sum_of(problem.sizes), draft.split.chunk, static_cast<std::size_t>(settings.max_paths));
    play_levels(problem, std::move(draft), best);
  }
  return best;
}

}  // namespace polypath::plan
