#include "plan/single/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "model/tolerance.h"
#include "plan/load.h"
#include "plan/single/draft.h"

namespace polypath::plan {

std::vector<std::pair<Path, double>> named_paths(const Machine& machine, PlaceId source,
                                                 PlaceId destination,
                                                 const std::map<std::string, double>& numbers) {
  std::vector<std::pair<Path, double>> found;
  std::set<std::string> known;
  const PlaceId host = machine.host_for(source, destination);
  for (const Path& path : find_paths(machine, source, destination)) {
    const std::string name = name_of(machine, path);
    known.insert(name);
    auto entry = numbers.find(name);
    if (host.valid() && name == machine.place(host).name) {
      known.insert("host");
      const auto alias = numbers.find("host");
      if (entry != numbers.end() && alias != numbers.end())
        fail(ErrorCode::invalid_argument, fmt::format("path '{}' is named twice", name),
             "'host' is another name of it", "Remove one of them.");
      if (entry == numbers.end()) entry = alias;
    }
    if (entry != numbers.end()) found.emplace_back(path, entry->second);
  }
  for (const auto& [name, number] : numbers)
    if (!known.contains(name))
      fail(ErrorCode::invalid_argument, fmt::format("path '{}' cannot be used", name),
           fmt::format("from {} to {} there are {}", machine.place(source).name,
                       machine.place(destination).name, join({known.begin(), known.end()}, ", ")),
           "Name some of them.");
  return found;
}

PathDecision Explainer::decide(const Path& path, const Prediction& prediction,
                               const std::string& barred, bool forced) const {
  const Machine& machine = predictor_.machine();
  PathDecision decision;
  decision.path = path;
  decision.name = name_of(machine, path);
  for (std::size_t p = 0; p < plan_.shape.paths.size(); ++p) {
    const PathShape& part = plan_.shape.paths[p];
    if (part.path != path) continue;
    decision.included = true;
    for (const Bytes chunk : part.chunks) decision.bytes += chunk;
    decision.share = decision.bytes.real() / plan_.bytes.real();
    decision.chunks = static_cast<int>(part.chunks.size());
    decision.predicted = prediction.path_finish[p];
  }
  // A caller that chose the paths has not asked about the others, and that answer is half of the
  // work.
  const bool asked = !forced && barred.empty();
  PlanGrounds::With with{without()};
  if (!decision.included && asked) with = grounds_.time_with(path);
  if (!decision.included) decision.predicted = with.time;
  decision.reason = decision.included ? reason_in(decision, forced)
                                      : reason_out(decision, barred, forced, with.harms);
  return decision;
}

std::string Explainer::reason_in(const PathDecision& decision, bool forced) const {
  const BytesPerSecond rate = path_rate(predictor_.machine(), decision.path);
  const std::string amount = fmt::format("{:.1f} % of the message", 100 * decision.share);
  const std::string by_request = forced ? grounds_.asked + ", " : "";
  if (!decision.path.staged() && plan_.shape.paths.size() == 1)
    return fmt::format("{}carries everything at up to {}: {}", by_request, describe_bandwidth(rate),
                       describe_seconds(plan_.predicted));
  if (!decision.path.staged())
    return fmt::format("{}carries {} at up to {}; {} it would take {}", by_request, amount,
                       describe_bandwidth(rate), grounds_.of_set ? "natively" : "alone",
                       describe_seconds(plan_.native_predicted));
  return fmt::format("{}carries {} in {} chunk{} at up to {} and ends after {}", by_request, amount,
                     decision.chunks, decision.chunks == 1 ? "" : "s", describe_bandwidth(rate),
                     describe_seconds(decision.predicted));
}

std::string Explainer::reason_out(const PathDecision& decision, const std::string& barred,
                                  bool forced, bool harms) const {
  if (forced) return barred.empty() ? "not among the paths asked for" : barred;
  if (!barred.empty() && plan_.bytes >= grounds_.smallest_planned) return barred;
  const std::string verdict = this->verdict(decision);
  if (plan_.bytes < grounds_.smallest_planned)
    return fmt::format("messages below {} are one native copy; {}",
                       describe_bytes(grounds_.smallest_planned), verdict);
  const std::string shared = contention(decision.path);
  if (!shared.empty() && decision.predicted >= without())
    return fmt::format("{}: {}", shared, verdict);
  if (decision.predicted >= without())
    return "its latency and chunks cost more than it carries; " + verdict;
  return reason_though_faster(harms) + "; " + verdict;
}

// One path more is not all that a set is chosen by.
std::string Explainer::reason_though_faster(bool harms) const {
  if (harms) return "some transfer of the set would end later than natively";
  if (grounds_.of_set) return "the search for the whole set did not take it";
  if (plan_.executor() == Executor::native)
    return fmt::format("gains less than the {} that planning asks for",
                       describe_seconds(grounds_.least_gain));
  return fmt::format(
      "saves less than the {} % that one more path must save, beside what its calls "
      "take of the thread",
      100 * kAlike);
}

std::string Explainer::verdict(const PathDecision& decision) const {
  return fmt::format("with it {}{}, without {}",
                     grounds_.of_set ? "all transfers are over after " : "",
                     describe_seconds(decision.predicted), describe_seconds(without()));
}

// The resource that this path and those in use together would overfill most, as a phrase.
std::string Explainer::contention(const Path& path) const {
  const Machine& machine = predictor_.machine();
  double worst = 1.02;
  std::string phrase;
  for (const Use& claim : predictor_.resources().claims(path)) {
    double wanted = claim.weight * path_rate(machine, path).value;
    double taken = 0;
    for (const Path& used : grounds_.in_use)
      for (const Use& other : predictor_.resources().claims(used))
        if (other.resource == claim.resource)
          taken += other.weight * path_rate(machine, used).value;
    const double fill =
        (wanted + taken) / predictor_.resources().capacities()[claim.resource.index()].value;
    if (taken <= 0 || fill <= worst) continue;
    worst = fill;
    const Resource& resource = machine.resource(claim.resource);
    phrase = resource.copies_at_once > 0
                 ? fmt::format("{} copies one thing at a time and is already busy", resource.name)
                 : fmt::format("{} ({}) is already used at {}", resource.name,
                               describe_bandwidth(resource.capacity),
                               describe_bandwidth({std::min(taken, resource.capacity.value)}));
  }
  return phrase;
}

}  // namespace polypath::plan
