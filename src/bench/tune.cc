#include "bench/tune.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/least_time.h"
#include "core/error.h"

namespace polypath::bench {
namespace {

struct Found {
  Candidate candidate;
  Seconds time = Seconds::infinity();
};

bool alike(const Machine& machine, const Path& a, const Path& b) {
  if (a.staged() != b.staged()) return false;
  const HockneyPath x = hockney_path(machine, a), y = hockney_path(machine, b);
  const auto same = [](const Leg& p, const Leg& q) {
    return p.latency == q.latency && p.bandwidth == q.bandwidth;
  };
  return same(x.first, y.first) && x.second.has_value() == y.second.has_value() &&
         (!x.second || same(*x.second, *y.second)) && x.staging == y.staging;
}

class Search {
 public:
  Search(const Machine& machine, const Lane& pair, Bytes bytes, Executor executor,
         const Settings& settings)
      : machine_(machine),
        paths_(find_paths(machine, pair.source, pair.destination)),
        least_time_(machine, paths_, bytes, executor, settings),
        operation_run_(simulate(machine, settings, sim::kTimingOnly), {"put", {pair}, false},
                       bytes),
        executor_(executor),
        bytes_(bytes),
        settings_(settings) {
    for (std::size_t p = 0; p < paths_.size(); ++p) {
      const auto group = std::find_if(groups_.begin(), groups_.end(), [&](const auto& members) {
        return alike(machine_, paths_[members.front()], paths_[p]);
      });
      if (group == groups_.end()) groups_.push_back({p});
      else group->push_back(p);
    }
  }

  Tuned run() {
    Tuned tuned;
    PlanOptions native, automatic;
    native.executor = Executor::native;
    tuned.native_seconds = operation_run_.run(native, 1);
    for (int i = 0; i <= settings_.graph_after.value_or(0); ++i) operation_run_.run(automatic, 1);
    tuned.automatic_seconds = operation_run_.run(automatic, 1);
    const PlanPointer plan = operation_run_.results()[0].plan;

    Candidate direct{std::vector<int>(paths_.size(), 0), std::vector<int>(paths_.size(), 1)};
    direct.percents[0] = 100;
    try_candidate(direct);
    if (plan && plan->executor() != Executor::native) try_candidate(candidate_of(*plan));
    refine();
    search_grid();
    refine();
    tuned.seconds = best_.time;
    tuned.entry = entry_of(best_.candidate);
    tuned.entry.speedup = tuned.native_seconds / best_.time;
    tuned.entry.automatic_speedup = tuned.native_seconds / tuned.automatic_seconds;
    tuned.entry.tried = static_cast<int>(known_.size());
    return tuned;
  }

 private:
  // All splits of 100 % over the groups in coarse steps, times chunk counts per group.
  void search_grid() {
    step_ = many() ? 5 : 1;
    Candidate candidate{std::vector<int>(paths_.size(), 0), std::vector<int>(paths_.size(), 1)};
    split_group(1, 100, candidate);
  }

  [[nodiscard]] bool many() const { return groups_.size() > 3 || paths_.size() > 5; }

  // Group 0 is the direct path alone and takes what is left.
  void split_group(std::size_t group, int left, Candidate& candidate) {
    if (group == groups_.size()) {
      candidate.percents[0] = left;
      return many() ? count_together(candidate) : count_chunks(1, candidate);
    }
    candidate.percents[0] = 0;
    if (least_time_.of_resources(candidate) >= best_.time) return;
    split_group(group + 1, left, candidate);
    const auto& members = groups_[group];
    for (std::size_t used = 1; used <= members.size(); ++used) {
      const int count = static_cast<int>(used);
      candidate.percents[members[used - 1]] = 0;
      for (int each = std::max(1, step_ / count); each * count <= left;
           each += std::max(1, step_ / count)) {
        if (least_time_.of_share(members.front(), each) >= best_.time) break;
        for (std::size_t m = 0; m < used; ++m) candidate.percents[members[m]] = each;
        split_group(group + 1, left - each * count, candidate);
      }
    }
    for (const std::size_t p : members) candidate.percents[p] = 0;
  }

  void count_chunks(std::size_t group, Candidate& candidate) {
    if (group == groups_.size()) return try_candidate(candidate);
    const auto& members = groups_[group];
    const int percent = candidate.percents[members.front()];
    if (percent == 0) return count_chunks(group + 1, candidate);
    for (int count = 2; count <= 64; count *= 2) {
      if (bytes_.value / 100 * static_cast<std::uint64_t>(percent) <
          settings_.min_chunk.value * static_cast<std::uint64_t>(count) / 2)
        break;
      if (least_time_.of_path(members.front(), percent, count) >= best_.time) continue;
      for (const std::size_t p : members) candidate.chunks[p] = count;
      count_chunks(group + 1, candidate);
    }
    for (const std::size_t p : members) candidate.chunks[p] = 1;
  }

  // Many paths begin with one count for all; refine() tells them apart.
  void count_together(Candidate& candidate) {
    for (int count = 2; count <= 64; count *= 2) {
      for (std::size_t p = 1; p < paths_.size(); ++p)
        candidate.chunks[p] = candidate.percents[p] == 0 ? 1 : count;
      try_candidate(candidate);
    }
    std::fill(candidate.chunks.begin(), candidate.chunks.end(), 1);
  }

  void refine() {
    bool better = true;
    while (better) {
      better = false;
      const Found start = best_;
      for (std::size_t a = 0; a < paths_.size(); ++a) {
        for (std::size_t b = 0; b < paths_.size(); ++b)
          for (const int percent : {1, 2, 4, 8}) move_share(start.candidate, a, b, percent);
        for (const double factor : {0.5, 0.75, 0.9, 1.1, 1.33, 2.0})
          change_chunks(start.candidate, a, factor);
      }
      better = best_.time.value < start.time.value * (1 - 1e-4);
    }
  }

  void move_share(Candidate candidate, std::size_t from, std::size_t to, int percent) {
    if (from == to || candidate.percents[from] < percent) return;
    candidate.percents[from] -= percent;
    candidate.percents[to] += percent;
    try_candidate(candidate);
  }

  void change_chunks(Candidate candidate, std::size_t path, double factor) {
    if (!paths_[path].staged() || candidate.percents[path] == 0) return;
    const int before = candidate.chunks[path];
    int after = static_cast<int>(std::lround(before * factor));
    if (after == before) after += factor > 1 ? 1 : -1;
    candidate.chunks[path] = std::clamp(after, 1, 512);
    try_candidate(candidate);
  }

  void try_candidate(const Candidate& candidate) {
    if (least_time_.of(candidate) >= best_.time) return;
    const auto [known, first_time] = known_.emplace(candidate, Seconds{});
    if (first_time) known->second = time_of(candidate);
    if (known->second < best_.time) best_ = {candidate, known->second};
  }

  Seconds time_of(const Candidate& candidate) {
    const TunedEntry entry = entry_of(candidate);
    PlanOptions options;
    options.executor = executor_;
    options.shares = entry.shares;
    options.chunks = entry.chunks;
    operation_run_.run(options, 1);  // creates streams, rings, graphs
    return operation_run_.run(options, 1);
  }

  TunedEntry entry_of(const Candidate& candidate) const {
    TunedEntry entry;
    entry.bytes = bytes_;
    entry.executor = executor_;
    for (std::size_t p = 0; p < paths_.size(); ++p) {
      if (candidate.percents[p] == 0) continue;
      const std::string name = name_of(machine_, paths_[p]);
      entry.shares[name] = candidate.percents[p] / 100.0;
      if (paths_[p].staged()) entry.chunks[name] = candidate.chunks[p];
    }
    return entry;
  }

  // The plan in whole per cent; the direct path takes the rounding.
  Candidate candidate_of(const Plan& plan) const {
    Candidate candidate{std::vector<int>(paths_.size(), 0), std::vector<int>(paths_.size(), 1)};
    int left = 100;
    for (std::size_t p = 0; p < paths_.size(); ++p)
      for (const PathDecision& decision : plan.decisions) {
        if (decision.path != paths_[p] || !decision.included || p == 0) continue;
        candidate.percents[p] = std::min(left, static_cast<int>(std::lround(decision.share * 100)));
        candidate.chunks[p] = decision.chunks;
        left -= candidate.percents[p];
      }
    candidate.percents[0] = left;
    return candidate;
  }

  const Machine& machine_;
  std::vector<Path> paths_;
  std::vector<std::vector<std::size_t>> groups_;
  LeastTime least_time_;
  OperationRun operation_run_;
  Executor executor_;
  Bytes bytes_;
  Settings settings_;
  int step_ = 5;
  std::map<Candidate, Seconds> known_;
  Found best_;
};

}  // namespace

Tuned tune_one(const Machine& machine, const Lane& pair, Bytes bytes, Executor executor,
               const Settings& settings) {
  Settings search_settings = settings;
  search_settings.plan_cache = 16;  // candidates are not met again
  search_settings.graph_cache = 4;
  Tuned tuned = Search(machine, pair, bytes, executor, search_settings).run();
  tuned.entry.source = machine.place(pair.source).name;
  tuned.entry.destination = machine.place(pair.destination).name;
  return tuned;
}

std::vector<Tuned> tune_all(const TuneRequest& request, const Progress& progress) {
  std::vector<Tuned> results;
  const std::size_t total = request.pairs.size() * request.sizes.size() * request.executors.size();
  for (const Lane& pair : request.pairs)
    for (const Bytes bytes : request.sizes)
      for (const Executor executor : request.executors) {
        results.push_back(tune_one(request.machine, pair, bytes, executor, request.settings));
        if (progress) progress(static_cast<int>(results.size()), static_cast<int>(total));
      }
  return results;
}

}  // namespace polypath::bench
