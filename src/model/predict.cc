#include "model/predict.h"

#include <algorithm>
#include <array>

#include "model/fair_rates.h"
#include "model/issue.h"
#include "model/pipeline.h"

namespace polypath {
namespace {

// One path in flight: what is left of it, and its hops' average rates so far.
struct ActivePath {
  const PathShape* shape = nullptr;
  std::array<HopId, 2> hops;
  int hop_count = 1;
  double left = 0;         // bytes
  double steady_rate = 0;  // bytes per second, alone
  std::array<double, 2> moved_at_rate = {};  // ∫ rate dt per hop
  double lifetime = 0;
};

// The rate that a hop sustains in chunks of this size: c / (α + c/β).
double chunked_rate(const Hop& hop, double chunk) {
  return chunk / (hop.latency.value + chunk / hop.bandwidth.value);
}

ActivePath activate(const Machine& machine, const PathShape& shape) {
  ActivePath path;
  path.shape = &shape;
  path.hops = {shape.path.first, shape.path.second};
  path.hop_count = shape.path.staged() ? 2 : 1;
  for (const Bytes chunk : shape.chunks) path.left += chunk.real();
  const double chunk = path.left / static_cast<double>(shape.chunks.size());
  path.steady_rate = chunked_rate(machine.hop(path.hops[0]), chunk);
  if (path.hop_count == 2)
    path.steady_rate = std::min(path.steady_rate, chunked_rate(machine.hop(path.hops[1]), chunk));
  return path;
}

// Rates of all hops of the paths still active, found twice: once with each path's own steady rate
// as cap, then with what its slower hop got, which frees capacity on the other.
class SharedRates {
 public:
  SharedRates(const ResourceModel& resources, std::span<const BytesPerSecond> available)
      : resources_(resources), available_(available) {}

  void find(const std::vector<ActivePath*>& active) {
    std::vector<Flow> flows;
    for (const ActivePath* path : active)
      for (int h = 0; h < path->hop_count; ++h)
        flows.push_back({{path->steady_rate}, resources_.claims(path->hops[std::size_t(h)])});
    rates_ = fair_rates(flows, available_);
    if (!lower_caps(active, flows)) return;
    rates_ = fair_rates(flows, available_);
  }

  [[nodiscard]] double operator[](std::size_t flow) const { return rates_[flow].value; }

 private:
  // Caps each hop at its path's slower one; false if nothing changed.
  bool lower_caps(const std::vector<ActivePath*>& active, std::vector<Flow>& flows) {
    bool changed = false;
    std::size_t f = 0;
    for (const ActivePath* path : active) {
      const auto count = static_cast<std::size_t>(path->hop_count);
      BytesPerSecond slower = rates_[f];
      for (std::size_t h = 1; h < count; ++h) slower = std::min(slower, rates_[f + h]);
      for (std::size_t h = 0; h < count; ++h, ++f) {
        changed |= slower.value < flows[f].cap.value * (1 - 1e-9);
        flows[f].cap = slower;
      }
    }
    return changed;
  }

  const ResourceModel& resources_;
  std::span<const BytesPerSecond> available_;
  std::vector<BytesPerSecond> rates_;
};

// Runs the fluid phases: constant rates until the next path is done.
void run_phases(const Machine& machine, SharedRates& rates, std::vector<ActivePath*> active) {
  while (!active.empty()) {
    rates.find(active);
    double step = Seconds::infinity().value;
    std::vector<double> path_rates;
    std::size_t f = 0;
    for (const ActivePath* path : active) {
      double rate = rates[f];
      if (path->hop_count == 2) rate = std::min(rate, rates[f + 1]);
      f += static_cast<std::size_t>(path->hop_count);
      path_rates.push_back(rate);
      step = std::min(step, path->left / rate);
    }
    f = 0;
    for (std::size_t p = 0; p < active.size(); ++p) {
      ActivePath& path = *active[p];
      for (std::size_t h = 0; h < static_cast<std::size_t>(path.hop_count); ++h, ++f) {
        const bool throttled = rates[f] < path.steady_rate * (1 - 1e-9);
        const double full = machine.hop(path.hops[h]).bandwidth.value;
        path.moved_at_rate[h] += step * (throttled ? rates[f] : full);
      }
      path.lifetime += step;
      path.left -= path_rates[p] * step;
    }
    std::erase_if(active, [](const ActivePath* path) { return path->left < 0.5; });
  }
}

Leg leg_of(const Machine& machine, const ActivePath& path, std::size_t h) {
  return {machine.hop(path.hops[h]).latency, {path.moved_at_rate[h] / path.lifetime}};
}

Seconds finish_of(const Machine& machine, const ActivePath& path, const PathIssue& issue,
                  int slots) {
  const auto& chunks = path.shape->chunks;
  const Leg first = leg_of(machine, path, 0);
  if (path.hop_count == 1) return issue.first[0] + first.latency + chunks[0] / first.bandwidth;
  const Hop& second = machine.hop(path.hops[1]);
  const Seconds staging = machine.place(second.source).staging_latency;
  const Seconds arrival = machine.place(second.destination).staging_latency;
  StagedPipeline pipeline(first, leg_of(machine, path, 1), staging, arrival, slots);
  Seconds finish;
  for (std::size_t j = 0; j < chunks.size(); ++j)
    finish = pipeline.add(chunks[j], issue.first[j], issue.second[j]);
  return finish + arrival;
}

}  // namespace

const char* name_of(Executor executor) {
  switch (executor) {
    case Executor::native: return "native";
    case Executor::stream: return "stream";
    case Executor::graph: return "graph";
  }
  return "unknown";
}

Bytes TransferShape::total() const {
  Bytes sum;
  for (const PathShape& shape : paths)
    for (const Bytes chunk : shape.chunks) sum += chunk;
  return sum;
}

Predictor::Predictor(const Machine& machine) : machine_(&machine), resources_(machine) {}

std::vector<Prediction> Predictor::predict(std::span<const TransferShape> transfers,
                                           std::span<const BytesPerSecond> available,
                                           int slots) const {
  std::vector<ActivePath> paths;
  for (const TransferShape& transfer : transfers)
    for (const PathShape& shape : transfer.paths) paths.push_back(activate(*machine_, shape));
  std::vector<ActivePath*> active;
  for (ActivePath& path : paths)
    if (path.left > 0) active.push_back(&path);
  SharedRates rates(resources_, available);
  run_phases(*machine_, rates, active);

  std::vector<Prediction> predictions;
  Seconds start;
  std::size_t p = 0;
  for (const TransferShape& transfer : transfers) {
    const TransferIssue issue = issue_times(*machine_, transfer, slots, start);
    Prediction prediction{issue.done, issue.done - start, {}};
    for (std::size_t i = 0; i < transfer.paths.size(); ++i, ++p) {
      prediction.path_finish.push_back(finish_of(*machine_, paths[p], issue.paths[i], slots));
      prediction.time = std::max(prediction.time, prediction.path_finish.back());
    }
    prediction.time += machine_->costs.synchronize;
    start = issue.done;
    predictions.push_back(std::move(prediction));
  }
  return predictions;
}

Prediction Predictor::predict(const TransferShape& transfer, int slots) const {
  return predict({&transfer, 1}, resources_.capacities(), slots).front();
}

}  // namespace polypath
