#include "plan/single/fixed_splits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "plan/single/allowed_paths.h"
#include "plan/single/explain.h"

namespace polypath::plan {
namespace {

void check_shares(const std::map<std::string, double>& shares) {
  double sum = 0;
  for (const auto& [name, share] : shares) {
    if (!(share >= 0 && share <= 1))
      fail(ErrorCode::invalid_argument, fmt::format("share {}={} cannot be used", name, share),
           "it is a part of the message", "Correct it: each share lies in 0 to 1.");
    sum += share;
  }
  if (std::abs(sum - 1) > 1e-6)
    fail(ErrorCode::invalid_argument, "the shares do not add up to 1",
         fmt::format("each path carries its share of the message, and they make {:.6g}", sum),
         "Correct them.");
}

// A table of this machine must name paths that it has, or the first copy would stumble.
void check_tuned(const Machine& machine, const TunedTable& table) {
  if (table.machine != machine.name) return;
  for (const TunedEntry& entry : table.entries) {
    try {
      const PlaceId source = machine.find_place(entry.source);
      const PlaceId destination = machine.find_place(entry.destination);
      (void)named_paths(machine, source, destination, entry.shares);
      (void)named_paths(machine, source, destination, {entry.chunks.begin(), entry.chunks.end()});
    } catch (const Error& error) {
      fail(ErrorCode::invalid_setting, "POLYPATH_TUNED cannot be used", error.what(),
           "Write the file anew with 'polypath tune --output'.");
    }
  }
}

}  // namespace

FixedSplits::FixedSplits(const PlanModel& model) : model_(model) {
  if (!model.settings().tuned.empty()) tuned_ = read_tuned(model.settings().tuned);
  check_tuned(model.machine(), tuned_);
}

std::optional<Draft> FixedSplits::tuned(const PlannerRequest& request, Executor executor) const {
  const Machine& machine = model_.machine();
  if (tuned_.machine != machine.name || !request.load.empty()) return std::nullopt;
  const TunedEntry* entry =
      tuned_.find(machine.place(request.source).name, machine.place(request.destination).name,
                  request.bytes, executor);
  if (entry == nullptr) return std::nullopt;
  Draft draft = with_shares(request, model_.splitter(request, executor, request.bytes),
                            entry->shares, entry->chunks);
  if (uses_left_out(machine, draft, request.options->left_out)) return std::nullopt;
  for (const PathDraft& part : draft.paths)
    if (rests_on_missing(machine, part.path)) return std::nullopt;
  return draft;
}

Draft FixedSplits::forced(const PlannerRequest& request, Executor executor) const {
  const Splitter exact = model_.splitter(request, executor, request.bytes);
  const PlanOptions& options = *request.options;
  if (!options.shares.empty()) return with_shares(request, exact, options.shares, options.chunks);
  std::map<std::string, double> marks;
  for (const std::string& name : options.paths)
    if (!marks.emplace(name, 1).second)
      fail(ErrorCode::invalid_argument, fmt::format("path '{}' is named twice", name),
           "a plan has it once or not at all", "Remove one of them.");
  std::vector<Path> paths;
  for (const auto& [path, mark] :
       named_paths(model_.machine(), request.source, request.destination, marks))
    paths.push_back(path);
  Draft draft = exact.closed_form(paths);
  apply_chunks(request, draft);
  exact.evaluate(draft);
  return draft;
}

Draft FixedSplits::with_shares(const PlannerRequest& request, const Splitter& exact,
                               const std::map<std::string, double>& shares,
                               const std::map<std::string, int>& chunks) const {
  check_shares(shares);
  Draft draft;
  const auto paths = named_paths(model_.machine(), request.source, request.destination, shares);
  for (const auto& [path, share] : paths) {
    const Bytes bytes{static_cast<std::uint64_t>(share * request.bytes.real())};
    draft.paths.push_back({path, share, exact.chunk_count(path, bytes), 0});
  }
  PlannerRequest with_chunks = request;
  PlanOptions options = *request.options;
  options.chunks = chunks;
  with_chunks.options = &options;
  apply_chunks(with_chunks, draft);
  exact.evaluate(draft);
  return draft;
}

void FixedSplits::check_chunks(const PlannerRequest& request) const {
  const PlanOptions& options = *request.options;
  for (const auto& [name, count] : options.chunks) {
    if (count < 1 || count > 1 << 20)
      fail(ErrorCode::invalid_argument,
           fmt::format("chunk count {}={} cannot be used", name, count),
           "a path carries at least one chunk", "Give a count from 1 to 1048576.");
    const std::string resolved =
        resolve(model_.machine(), request.source, request.destination, name);
    const auto same = [&](const std::string& other) {
      return resolve(model_.machine(), request.source, request.destination, other) == resolved;
    };
    if (resolved != "direct") (void)model_.machine().find_place(resolved);
    if (options.forced() && std::ranges::none_of(options.path_names(), same))
      fail(ErrorCode::invalid_argument,
           fmt::format("chunk count of path '{}' cannot be used", name),
           fmt::format("the plan has {}", fmt::join(options.path_names(), ", ")),
           "Leave it out, or add the path.");
  }
}

void FixedSplits::apply_chunks(const PlannerRequest& request, Draft& draft) const {
  const Machine& machine = model_.machine();
  for (const auto& [name, count] : request.options->chunks) {
    const std::string resolved = resolve(machine, request.source, request.destination, name);
    for (PathDraft& part : draft.paths)
      if (name_of(machine, part.path) == resolved) part.chunks = count, part.taper = 0;
  }
}

}  // namespace polypath::plan
