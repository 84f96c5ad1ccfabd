#include "model/predict.h"

#include <algorithm>
#include <array>

#include "model/burst_credit.h"
#include "model/fair_rates.h"
#include "model/pipeline.h"
#include "model/tolerance.h"

namespace polypath::model {
namespace {

// One path in flight. It flows from `start` on at its fair rate until nothing is left; `tail`
// passes from then until its last byte has arrived.
struct ActivePath {
  const PathShape* shape = nullptr;
  std::size_t hop_count = 1;
  std::array<std::span<const Use>, 2> claims;
  ActivePath* behind = nullptr;  // a path whose one copy holds an engine that this one needs
  double left = 0;               // bytes
  double steady_rate = 0;        // bytes per second, alone
  double start = 0;              // seconds from the call, as all times here
  double tail = 0;
  double end = 0;
};

// The rate that a hop sustains in chunks of this size: c / (α + c/β), α with what a busy GPU adds.
double chunked_rate(const Hop& hop, Seconds busy, double chunk) {
  return chunk / ((hop.latency + busy).value + chunk / hop.bandwidth.value);
}

// The extra cost of a staged path's copies, and of the first hop's waits for slots, because their
// GPUs make other copies meanwhile (Place::busy_latency).
struct BusyLatency {
  Seconds first;
  Seconds second;
  Seconds release;
};

// How many copies each GPU makes while everything is in flight, and how many go over each hop.
class CopiesAtWork {
 public:
  CopiesAtWork(const Machine& machine, std::span<const TransferShape> transfers)
      : machine_(machine), of_gpus_(machine.places.size()), over_hops_(machine.hops.size() * 2) {
    for (const TransferShape& transfer : transfers)
      for (const PathShape& shape : transfer.paths)
        for (const HopId hop : {shape.path.first, shape.path.second})
          if (hop.valid())
            ++of_gpus_[machine.executing_gpu(hop).index()], ++over_hops_[number_of(hop)];
  }

  [[nodiscard]] BusyLatency latency_of(const Path& path) const {
    if (!path.staged()) return {};
    const Seconds first = beside(path.first), second = beside(path.second);
    return {first, second * 2, first};
  }

 private:
  static std::size_t number_of(HopId hop) { return hop.index() * 2 + (hop.pulled ? 1 : 0); }

  // What a copy over the hop waits longer for because of those over other hops.
  [[nodiscard]] Seconds beside(HopId hop) const {
    const PlaceId gpu = machine_.executing_gpu(hop);
    return machine_.place(gpu).busy_latency * (of_gpus_[gpu.index()] - over_hops_[number_of(hop)]);
  }

  const Machine& machine_;
  std::vector<int> of_gpus_, over_hops_;
};

// When the path would end with the machine to itself.
Seconds finish_alone(const Machine& machine, const PathShape& shape, const PathIssue& issue,
                     int slots, const BusyLatency& busy) {
  const Hop& first = machine.hop(shape.path.first);
  if (!shape.path.staged())
    return issue.first[0] + first.latency + shape.chunks[0] / first.bandwidth;
  const Hop& second = machine.hop(shape.path.second);
  const Seconds staging = machine.staging(shape.path.first, shape.path.second);
  const Seconds release = machine.staging(shape.path.second, shape.path.first);
  StagedPipeline pipeline({first.latency + busy.first, first.bandwidth},
                          {second.latency + busy.second, second.bandwidth}, staging,
                          release + busy.release, slots);
  Seconds finish;
  for (std::size_t j = 0; j < shape.chunks.size(); ++j)
    finish = pipeline.add(shape.chunks[j], issue.first[j], issue.second[j]);
  return finish + join_latency(machine, shape.path);
}

// The slower hop decides when the path flows: from the first copy on, or once a chunk has arrived.
ActivePath activate(const Machine& machine, const ResourceModel& resources, const BusyLatency& busy,
                    const PathShape& shape, const PathIssue& issue, int slots) {
  ActivePath path;
  path.shape = &shape;
  path.claims[0] = resources.claims(shape.path.first);
  for (const Bytes chunk : shape.chunks) path.left += chunk.real();
  const double chunk = path.left / static_cast<double>(shape.chunks.size());
  const Hop& first = machine.hop(shape.path.first);
  path.steady_rate = chunked_rate(first, busy.first, chunk);
  path.start = issue.first[0].value;
  if (shape.path.staged()) {
    path.hop_count = 2;
    path.claims[1] = resources.claims(shape.path.second);
    const double second_rate = chunked_rate(machine.hop(shape.path.second), busy.second, chunk);
    if (second_rate < path.steady_rate) {
      path.steady_rate = second_rate;
      path.start += (first.latency + shape.chunks[0] / first.bandwidth).value +
                    machine.staging(shape.path.first, shape.path.second).value;
    }
  }
  const double alone = finish_alone(machine, shape, issue, slots, busy).value;
  path.tail = alone - path.start - path.left / path.steady_rate;
  return path;
}

// Rates of all paths in flight, found twice: once with each path's own steady rate as the cap of
// both hops, then with what its slower hop got, which frees capacity on the other.
class SharedRates {
 public:
  const std::vector<double>& find(const std::vector<ActivePath*>& active,
                                  std::span<const Capacity> capacities) {
    rates_.clear();
    for (const ActivePath* path : active) rates_.push_back(path->steady_rate);
    if (find_once(active, capacities)) (void)find_once(active, capacities);
    return rates_;
  }

 private:
  // True if the two hops of some path got different rates.
  bool find_once(const std::vector<ActivePath*>& active, std::span<const Capacity> capacities) {
    flows_.clear();
    for (std::size_t p = 0; p < active.size(); ++p)
      for (std::size_t h = 0; h < active[p]->hop_count; ++h)
        flows_.push_back({{rates_[p]}, active[p]->claims[h]});
    const std::span<const double> found = fair_.find(flows_, capacities);
    bool any = false;
    std::size_t flow = 0;
    for (std::size_t p = 0; p < active.size(); flow += active[p++]->hop_count) {
      const double last = found[flow + active[p]->hop_count - 1];
      any |= found[flow] != last;
      rates_[p] = std::min({rates_[p], found[flow], last});
    }
    return any;
  }

  FairRates fair_;
  std::vector<Flow> flows_;
  std::vector<double> rates_;
};

// The fluid phases: rates are constant until the next path starts or ends, or a resource's burst is
// used up.
class Phases {
 public:
  Phases(std::vector<ActivePath>& paths, std::span<const Capacity> capacities)
      : paths_(paths),
        capacities_(capacities),
        credit_(capacities),
        available_(capacities_now(capacities, {})) {}

  void run() {
    std::vector<ActivePath*> active;
    while (true) {
      active.clear();
      double next_start = Seconds::infinity().value;
      for (ActivePath& path : paths_) {
        if (path.left <= 0 || (path.behind != nullptr && path.behind->left > 0)) continue;
        if (path.start <= now_) active.push_back(&path);
        else next_start = std::min(next_start, path.start);
      }
      if (active.empty() && next_start == Seconds::infinity().value) return;
      play(active, next_start);
    }
  }

 private:
  void play(const std::vector<ActivePath*>& active, double next_start) {
    if (spent_ != credit_.spent()) {
      spent_ = credit_.spent();
      available_ = capacities_now(capacities_, spent_);
    }
    const auto& rates = rates_.find(active, available_);
    credit_.take_nothing();
    for (std::size_t p = 0; p < active.size(); ++p)
      for (std::size_t h = 0; h < active[p]->hop_count; ++h)
        credit_.take(active[p]->claims[h], rates[p]);
    double step = std::min(next_start - now_, credit_.lasts().value);
    for (std::size_t p = 0; p < active.size(); ++p)
      step = std::min(step, active[p]->left / rates[p]);
    now_ += step;
    credit_.pass({step});
    for (std::size_t p = 0; p < active.size(); ++p) {
      active[p]->left -= rates[p] * step;
      if (active[p]->left < 0.5) active[p]->left = 0, active[p]->end = now_;
    }
  }

  std::vector<ActivePath>& paths_;
  std::span<const Capacity> capacities_;
  BurstCredit credit_;
  std::vector<ResourceId> spent_;  // when capacities were found
  std::vector<Capacity> available_;
  SharedRates rates_;
  double now_ = 0;
};

// True if some resource could be asked for more than it has while all copies flow at once.
bool may_contend(const Machine& machine, const std::vector<ActivePath>& paths,
                 std::span<const Capacity> capacities) {
  std::vector<double> asked(capacities.size(), 0);
  for (const ActivePath& path : paths)
    for (std::size_t h = 0; h < path.hop_count; ++h) {
      const HopId hop = h == 0 ? path.shape->path.first : path.shape->path.second;
      for (const Use& claim : path.claims[h])
        asked[claim.resource.index()] += claim.weight * machine.hop(hop).bandwidth.value;
    }
  for (std::size_t r = 0; r < asked.size(); ++r)
    if (asked[r] > capacities[r].value * (1 + kAlike / 2)) return true;
  return false;
}

// True if some GPU that switches slowly between its streams works for a staged path.
bool may_be_busy(const Machine& machine, const std::vector<ActivePath>& paths) {
  return std::any_of(paths.begin(), paths.end(), [&](const ActivePath& path) {
    const HopId first = path.shape->path.first;
    return path.hop_count == 2 &&
           machine.place(machine.executing_gpu(first)).busy_latency.value > 0;
  });
}

// A copy that is issued first and takes everything at once keeps its engines until it is done.
void find_blockers(const ResourceModel& resources, std::span<ActivePath> transfer) {
  for (std::size_t first = 0; first < transfer.size(); ++first) {
    ActivePath& direct = transfer[first];
    if (direct.hop_count == 2) continue;
    for (ActivePath& path : transfer.subspan(first + 1))
      for (const HopId hop : {path.shape->path.first, path.shape->path.second})
        if (resources.exclude_each_other(hop, direct.shape->path.first)) path.behind = &direct;
  }
}

}  // namespace

Predictor::Predictor(const Machine& machine)
    : machine_(&machine),
      resources_(machine),
      rates_(std::make_unique<HopRates>(machine)),
      issues_(std::make_unique<TransferIssues>(machine)) {}

Seconds Predictor::call_time(const TransferShape& transfer, int slots) const {
  return issues_->of(transfer, slots).done;
}

std::vector<Prediction> Predictor::predict(std::span<const TransferShape> transfers, int slots,
                                           std::span<const Seconds> starts) const {
  const auto& capacities = resources_.capacities();
  const CopiesAtWork at_work(*machine_, transfers);
  std::vector<ActivePath> paths;
  std::vector<Prediction> predictions;
  for (const TransferShape& transfer : transfers) {
    const TransferIssue& issue = issues_->of(transfer, slots);
    const Seconds start = starts.empty() ? Seconds{} : starts[predictions.size()];
    predictions.push_back({start + issue.done, start + issue.done, {}, false});
    for (std::size_t i = 0; i < transfer.paths.size(); ++i) {
      paths.push_back(activate(*machine_, resources_, at_work.latency_of(transfer.paths[i].path),
                               transfer.paths[i], issue.paths[i], slots));
      paths.back().start += start.value;
    }
  }
  std::size_t begin = 0;
  for (const TransferShape& transfer : transfers) {
    find_blockers(resources_, std::span(paths).subspan(begin, transfer.paths.size()));
    begin += transfer.paths.size();
  }
  const bool contended = may_contend(*machine_, paths, capacities) || may_be_busy(*machine_, paths);
  Phases(paths, capacities).run();

  const ActivePath* path = paths.data();
  for (std::size_t t = 0; t < transfers.size(); ++t) {
    Prediction& prediction = predictions[t];
    for (std::size_t i = 0; i < transfers[t].paths.size(); ++i, ++path) {
      prediction.path_finish.push_back({path->end + path->tail});
      prediction.time = std::max(prediction.time, prediction.path_finish.back());
    }
    prediction.contended = contended;
    prediction.time += machine_->costs.synchronize;
  }
  return predictions;
}

std::vector<Prediction> Predictor::predict_well(std::span<const TransferShape> transfers,
                                                int slots) const {
  auto quick = predict(transfers, slots);
  const bool contended = std::any_of(quick.begin(), quick.end(),
                                     [](const Prediction& each) { return each.contended; });
  return contended ? replay(transfers, slots) : quick;
}

Prediction Predictor::predict(const TransferShape& transfer, int slots) const {
  return predict_well({&transfer, 1}, slots).front();
}

}  // namespace polypath::model
