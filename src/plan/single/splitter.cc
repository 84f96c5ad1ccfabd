#include "plan/single/splitter.h"

#include <algorithm>
#include <utility>

#include "plan/single/contention.h"

namespace polypath::plan {
namespace {

constexpr int kProgramRounds = 4;  // chunk counts settle to within a per cent in three
constexpr int kReplayRounds = 4;   // each roughly squares the relative difference of ends

// The path that carries what the others leave.
std::size_t rest_of(const Draft& draft) {
  const auto direct = std::find_if(draft.paths.begin(), draft.paths.end(),
                                   [](const PathDraft& part) { return !part.path.staged(); });
  return direct == draft.paths.end() ? 0 : static_cast<std::size_t>(direct - draft.paths.begin());
}

}  // namespace

Splitter::Splitter(const Predictor& predictor, const DraftLimits& limits, Executor executor,
                   Bytes bytes)
    : predictor_(predictor), limits_(limits), executor_(executor), bytes_(bytes) {}

Seconds Splitter::chunk_issue_cost() const {
  const CallCosts& costs = predictor_.machine().costs;
  if (executor_ == Executor::graph) return costs.graph_launch_node * 2;
  return costs.copy * 2 + costs.event_record + costs.event_wait;
}

double Splitter::chunk_count(const Path& path, Bytes bytes) const {
  const HockneyPath hockney = hockney_path(predictor_.machine(), path);
  return exact_chunk_count(hockney, bytes, chunk_issue_cost());
}

// Staged paths in whole blocks of 512 bytes; the direct path, or without it the first one, the
// rest. Where shares add up to more than one, the last ones get less or nothing.
std::vector<Bytes> Splitter::bytes_of_paths(const Draft& draft) const {
  std::vector<Bytes> carried(draft.paths.size());
  const std::size_t rest = rest_of(draft);
  Bytes left = bytes_;
  for (std::size_t p = 0; p < draft.paths.size(); ++p) {
    if (p == rest) continue;
    const Bytes wanted = share_of(bytes_, draft.paths[p].share);
    carried[p] = std::min(left, Bytes{wanted.value / 512 * 512});
    left -= carried[p];
  }
  carried[rest] = left;
  return carried;
}

TransferShape Splitter::shape_of(const Draft& draft) const {
  TransferShape shape{executor_, {}};
  const std::vector<Bytes> carried = bytes_of_paths(draft);
  for (std::size_t p = 0; p < draft.paths.size(); ++p) {
    const PathDraft& path = draft.paths[p];
    if (carried[p].value == 0) continue;
    PathShape part{path.path, {carried[p]}};
    if (path.path.staged()) {
      part.taper = path.taper;
      part.chunks = chunk_sizes(hockney_path(predictor_.machine(), path.path), carried[p],
                                path.chunks, path.taper, limits_.chunks);
    }
    shape.paths.push_back(std::move(part));
  }
  return shape;
}

// Paths without bytes have no place in the shape, nor then in the draft. Without one of them
// another one may carry what the others leave.
void Splitter::drop_idle(Draft& draft) const {
  const PathDraft rest = draft.paths[rest_of(draft)];
  std::erase_if(draft.paths,
                [&](const PathDraft& path) { return share_of(bytes_, path.share).value < 512; });
  if (draft.paths.empty()) draft.paths.push_back(rest);
  std::size_t erased = 1;
  while (erased > 0) {
    const std::vector<Bytes> carried = bytes_of_paths(draft);
    std::size_t path = 0;
    erased =
        std::erase_if(draft.paths, [&](const PathDraft&) { return carried[path++].value == 0; });
  }
}

void Splitter::predict(Draft& draft, Effort effort) const {
  drop_idle(draft);
  const auto shapes = together(shape_of(draft));
  const auto predictions = effort == Effort::quick ? predictor_.predict(shapes, limits_.slots)
                                                   : predictor_.predict_well(shapes, limits_.slots);
  draft.prediction = predictions.front();
  // Whichever is late, both count as late: in time each of them will be. So do their paths: bytes
  // must not go to one that is early this way only.
  for (const Prediction& other : predictions) {
    draft.prediction.time = std::max(draft.prediction.time, other.time);
    for (std::size_t p = 0; p < draft.paths.size(); ++p)
      draft.prediction.path_finish[p] =
          std::max(draft.prediction.path_finish[p], other.path_finish[p]);
  }
}

std::vector<TransferShape> Splitter::together(const TransferShape& shape) const {
  if (!limits_.both_ways) return {shape};
  return {shape, mirror_image(predictor_.machine(), shape)};
}

void Splitter::evaluate(Draft& draft) const { predict(draft, Effort::replay); }

// T = Ω·b + Δ for a fixed chunk count: eq. 13 with ε once, plus the calls issued before. Once both
// hops are at work the slower one goes no faster than the hops' shared resources allow the path.
LinearTime Splitter::linear_time_of(const PathDraft& draft, std::size_t order) const {
  const Machine& machine = predictor_.machine();
  const HockneyPath path = hockney_path(machine, draft.path);
  const double first = 1 / path.first.bandwidth.value;
  const Seconds issued = machine.costs.copy + chunk_issue_cost() * static_cast<double>(order);
  if (!path.second) return {first, path.first.latency + issued};
  const double second = 1 / path.second->bandwidth.value;
  const double slow =
      std::max({first, second, 1 / predictor_.resources().own_rate(draft.path).value});
  const double k = draft.chunks;
  const Seconds fixed = issued + path.staging + join_latency(machine, draft.path);
  if (first >= second)
    return {slow + second / k, path.first.latency * k + path.second->latency + fixed};
  return {first / k + slow, path.first.latency + path.second->latency * k + fixed};
}

Draft Splitter::program_split(const std::vector<Path>& paths) const {
  double bandwidth_sum = 0;
  Draft draft;
  for (const Path& path : paths) {
    const HockneyPath hockney = hockney_path(predictor_.machine(), path);
    const double bandwidth =
        std::min(hockney.first.bandwidth, hockney.second.value_or(hockney.first).bandwidth).value;
    draft.paths.push_back({path, bandwidth, 1, 0});
    bandwidth_sum += bandwidth;
  }
  for (PathDraft& path : draft.paths) path.share /= bandwidth_sum;
  for (int round = 0; round < kProgramRounds; ++round) {
    std::vector<SharedPath> problem;
    for (std::size_t p = 0; p < draft.paths.size(); ++p) {
      PathDraft& path = draft.paths[p];
      const Bytes bytes = share_of(bytes_, path.share);
      if (bytes.value > 0) path.chunks = std::max(1.0, chunk_count(path.path, bytes));
      problem.push_back({linear_time_of(path, p), predictor_.resources().claims(path.path)});
    }
    const auto solution =
        solve_shares(problem, predictor_.resources().capacities(), bytes_, limits_.chunks.smallest);
    for (std::size_t p = 0; p < draft.paths.size(); ++p) draft.paths[p].share = solution.shares[p];
  }
  drop_idle(draft);
  std::stable_sort(draft.paths.begin(), draft.paths.end(),
                   [](const PathDraft& a, const PathDraft& b) {
                     if (a.path.staged() != b.path.staged()) return !a.path.staged();
                     return a.share > b.share;
                   });
  return draft;
}

Draft Splitter::closed_form_split(const std::vector<Path>& paths) const {
  Draft draft;
  for (const Path& path : paths)
    draft.paths.push_back({path, 1.0 / static_cast<double>(paths.size()), 1, 0});
  for (int round = 0; round < kProgramRounds; ++round) {
    std::vector<LinearTime> times;
    for (std::size_t p = 0; p < paths.size(); ++p) {
      PathDraft& part = draft.paths[p];
      part.chunks = chunk_count(part.path, share_of(bytes_, part.share));
      times.push_back(linear_time_of(part, p));
    }
    const auto shares = closed_form_shares(times, bytes_);
    const double least = std::min(limits_.chunks.smallest.real() / bytes_.real(),
                                  0.5 / static_cast<double>(paths.size()));
    double sum = 0;
    for (std::size_t p = 0; p < paths.size(); ++p)
      sum += draft.paths[p].share = std::max(shares[p], least);
    for (PathDraft& part : draft.paths) part.share /= sum;
  }
  return draft;
}

Draft Splitter::closed_form(const std::vector<Path>& paths) const {
  Draft draft = closed_form_split(paths);
  evaluate(draft);
  return draft;
}

Draft Splitter::with_path(const Draft& draft, const Path& path) const {
  std::vector<Path> paths = paths_of(draft);
  paths.push_back(path);
  return closed_form(paths);
}

std::optional<Seconds> Splitter::level(Draft& draft) const {
  if (draft.prediction.path_finish.size() != draft.paths.size()) return std::nullopt;
  double weight_sum = 0, end_sum = 0;
  std::vector<double> weights;
  for (std::size_t p = 0; p < draft.paths.size(); ++p) {
    const LinearTime alone = linear_time_of(draft.paths[p], p);
    const double finish = draft.prediction.path_finish[p].value;
    const double busy = std::max(finish - alone.offset.value, 0.25 * finish);
    weights.push_back(draft.paths[p].share / busy);
    weight_sum += weights.back();
    end_sum += weights.back() * finish;
  }
  const double end = end_sum / weight_sum;
  for (std::size_t p = 0; p < draft.paths.size(); ++p) {
    const double finish = draft.prediction.path_finish[p].value;
    draft.paths[p].share = std::max(0.0, draft.paths[p].share + weights[p] * (end - finish));
  }
  return Seconds{end};
}

void Splitter::equalise(Draft& draft, int rounds, Effort effort) const {
  predict(draft, effort);
  Draft trial = draft;
  for (int round = 0; round < rounds && trial.paths.size() > 1; ++round) {
    if (!level(trial)) return;
    predict(trial, effort);
    if (cost_of(trial) < cost_of(draft)) draft = trial;
  }
}

void Splitter::equalise_well(Draft& draft) const { equalise(draft, kReplayRounds, Effort::replay); }

}  // namespace polypath::plan
