#include "bench/least_time.h"

#include <algorithm>
#include <utility>

#include "model/chunks.h"
#include "model/pipeline.h"

namespace polypath::bench {
namespace {

// From the call until the first of several copies is issued, at least; model/issue.h says more.
Seconds first_issue(const CallCosts& costs, Executor executor) {
  if (executor == Executor::graph)
    return costs.event_wait + costs.graph_launch + costs.graph_launch_node;
  return costs.event_record + costs.copy;
}

// How long it takes what takes `lasting` at the capacity.
Seconds with_burst(const Capacity& limit, Seconds lasting) {
  return limit.credit > 0 ? Seconds{limit.time_of(lasting.value * limit.value)} : lasting;
}

}  // namespace

LeastTime::LeastTime(const Machine& machine, std::vector<Path> paths, Bytes bytes,
                     Executor executor, const Settings& settings)
    : machine_(machine),
      paths_(std::move(paths)),
      resources_(machine),
      bytes_(bytes),
      settings_(settings),
      calls_(first_issue(machine.costs, executor) + machine.costs.synchronize) {
  for (const Path& path : paths_) add_claims(path);
}

void LeastTime::add_claims(const Path& path) {
  claims_.emplace_back();
  const Hop& first = machine_.hop(path.first);
  Seconds rest;
  if (path.staged())
    rest = machine_.staging(path.first, path.second) + machine_.hop(path.second).latency;
  add_hop(path.first, {first.latency, rest});
  if (path.staged()) add_hop(path.second, {first.latency + rest, {}});
}

// An engine is taken for at least as long as the copy lasts at full rate.
void LeastTime::add_hop(HopId id, const Span& span) {
  const Hop& hop = machine_.hop(id);
  for (const Use& use : hop.uses) {
    const Resource& resource = machine_.resource(use.resource);
    const bool engine = resource.copies_at_once > 0;
    const double rate = engine ? resource.copies_at_once * hop.bandwidth.value
                               : resource.capacity.value / use.weight;
    claims_.back().push_back({use.resource, 1 / rate, span});
  }
}

// Shares are rounded down to 512 bytes, and the first path takes what is left: never less than
// here.
Bytes LeastTime::carried(std::size_t path, int percent) const {
  const Bytes share{bytes_.value / 100 * static_cast<std::uint64_t>(percent)};
  return paths_[path].staged() ? Bytes{share.value / 512 * 512} : share;
}

Seconds LeastTime::alone(std::size_t path, Bytes bytes, int chunks) const {
  const HockneyPath hockney = hockney_path(machine_, paths_[path]);
  if (!hockney.second) return hockney.first.latency + bytes / hockney.first.bandwidth;
  const Seconds release = machine_.staging(paths_[path].second, paths_[path].first);
  StagedPipeline pipeline(hockney.first, *hockney.second, hockney.staging, release,
                          settings_.staging_slots);
  Seconds end;
  for (const Bytes chunk :
       chunk_sizes(hockney, bytes, chunks, 0, {settings_.min_chunk, settings_.staging_slot}))
    end = pipeline.add(chunk, {}, {});
  return end;
}

Seconds LeastTime::of_share(std::size_t path, int percent) const {
  return calls_ + carried(path, percent) / resources_.own_rate(paths_[path]);
}

Seconds LeastTime::of_path(std::size_t path, int percent, int chunks) {
  const Bytes bytes = carried(path, percent);
  if (bytes.value == 0) return {};
  const auto [known, first_time] =
      known_.emplace(std::array{static_cast<int>(path), percent, chunks}, Seconds{});
  if (first_time)
    known->second = std::max(calls_ + alone(path, bytes, chunks), of_share(path, percent));
  return known->second;
}

Seconds LeastTime::of_resources(const Candidate& candidate) const {
  struct Busy {
    Span span = {Seconds::infinity(), Seconds::infinity()};
    Seconds time;
  };
  std::vector<Busy> resources(machine_.resources.size());
  for (std::size_t p = 0; p < paths_.size(); ++p) {
    if (candidate.percents[p] == 0) continue;
    for (const Claim& claim : claims_[p]) {
      Busy& busy = resources[claim.resource.index()];
      busy.time += {claim.seconds_per_byte * carried(p, candidate.percents[p]).real()};
      busy.span.before = std::min(busy.span.before, claim.span.before);
      busy.span.after = std::min(busy.span.after, claim.span.after);
    }
  }
  Seconds least;
  for (std::size_t r = 0; r < resources.size(); ++r) {
    const Busy& busy = resources[r];
    if (busy.time.value == 0) continue;
    const Seconds time = with_burst(machine_.resources[r].rate_limit(), busy.time);
    least = std::max(least, busy.span.before + time + busy.span.after);
  }
  return calls_ + least;
}

Seconds LeastTime::of(const Candidate& candidate) {
  if (!paths_.front().staged() && candidate.percents.front() == 100) return {};
  Seconds least = of_resources(candidate);
  for (std::size_t p = 0; p < paths_.size(); ++p)
    least = std::max(least, of_path(p, candidate.percents[p], candidate.chunks[p]));
  return least;
}

}  // namespace polypath::bench
