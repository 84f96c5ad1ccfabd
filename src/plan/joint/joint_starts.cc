#include "plan/joint/joint_starts.h"

#include <algorithm>

#include "plan/single/contention.h"

namespace polypath::plan {
namespace {

constexpr int kJointProgramRounds = 3;  // chunk counts settle to within a per cent

bool goes_through_host(const Machine& machine, const Path& path) {
  return path.staged() && machine.place(staging_place(machine, path)).kind == PlaceKind::host;
}

}  // namespace

std::vector<JointDraft> JointStarts::drafts() const {
  std::vector<JointDraft> drafts;
  for (const double least_part : {0.0, 0.05, 0.12})
    drafts.push_back(draft({.least_part = least_part}));
  drafts.push_back(draft({.in_proportion = true, .least_part = 0.02}));
  drafts.push_back(draft({.hosts = false, .least_part = 0.02}));
  drafts.push_back(draft({.polite = true, .least_part = 0.02}));
  drafts.push_back(draft({.alone = true, .least_part = 0.02}));
  return drafts;
}

Load JointStarts::direct_load_of_others(std::size_t transfer) const {
  const JointProblem& problem = predictor_.problem();
  Load load;
  for (std::size_t k = 0; k < predictor_.size(); ++k)
    if (k != transfer)
      add_rates(predictor_.predictor().resources(),
                direct_copy(problem.paths[k].front(), problem.transfers[k].bytes), load);
  return load;
}

std::vector<std::vector<Path>> JointStarts::paths_for(const Start& start) const {
  const Predictor& predictor = predictor_.predictor();
  const Machine& machine = predictor.machine();
  std::vector<std::vector<Path>> paths = predictor_.problem().paths;
  if (!start.hosts)
    for (auto& of_transfer : paths)
      std::erase_if(of_transfer,
                    [&](const Path& path) { return goes_through_host(machine, path); });
  for (std::size_t k = 0; start.polite && k < paths.size(); ++k) {
    const LoadSignature load =
        signature_of(direct_load_of_others(k), predictor.resources().capacities());
    std::erase_if(paths[k], [&](const Path& path) { return overloads(predictor, path, load); });
  }
  return paths;
}

JointDraft JointStarts::draft(const Start& start) const {
  JointDraft begun = even_split(paths_for(start));
  for (int round = 0; round < kJointProgramRounds; ++round) {
    settle_chunks(begun);
    resolve_shares(begun, start);
    if (round == 0) keep_most_useful(begun);
  }
  settle_chunks(begun);
  sort_paths(begun);
  return begun;
}

JointDraft JointStarts::even_split(const std::vector<std::vector<Path>>& paths) const {
  JointDraft draft;
  for (const auto& of_transfer : paths) {
    Draft& own = draft.transfers.emplace_back();
    for (const Path& path : of_transfer)
      own.paths.push_back({path, 1.0 / static_cast<double>(of_transfer.size()), 1, 0});
  }
  return draft;
}

// An idle path keeps the count that it had: with one chunk it would look worse than it is.
void JointStarts::settle_chunks(JointDraft& draft) const {
  for (std::size_t k = 0; k < draft.transfers.size(); ++k)
    for (PathDraft& part : draft.transfers[k].paths) {
      const Bytes bytes = share_of(predictor_.problem().transfers[k].bytes, part.share);
      if (bytes.value > 0)
        part.chunks = std::max(1.0, predictor_.splitter(k).chunk_count(part.path, bytes));
    }
}

JointPaths JointStarts::problem_of(const JointDraft& draft, std::size_t transfer,
                                   const Start& start) const {
  const JointProblem& problem = predictor_.problem();
  const Bytes bytes = problem.transfers[transfer].bytes;
  JointPaths paths{
      .paths = {},
      .bytes = bytes,
      .smallest = std::max(problem.limits.chunks.smallest, share_of(bytes, start.least_part))};
  if (start.in_proportion)
    paths.deadline = predictor_.native_end(transfer) / predictor_.last_native_end();
  const auto& parts = draft.transfers[transfer].paths;
  for (std::size_t p = 0; p < parts.size(); ++p)
    paths.paths.push_back({predictor_.splitter(transfer).linear_time_of(parts[p], p),
                           predictor_.predictor().resources().claims(parts[p].path)});
  return paths;
}

void JointStarts::resolve_shares(JointDraft& draft, const Start& start) const {
  const auto& capacities = predictor_.predictor().resources().capacities();
  const std::vector<Seconds> starts = predictor_.starts(draft);
  std::vector<JointPaths> transfers;
  for (std::size_t k = 0; k < predictor_.size(); ++k) {
    transfers.push_back(problem_of(draft, k, start));
    if (!start.alone)
      for (SharedPath& path : transfers.back().paths) path.time.offset += starts[k];
  }
  const auto take = [&](std::size_t k, const std::vector<double>& shares) {
    for (std::size_t p = 0; p < shares.size(); ++p) draft.transfers[k].paths[p].share = shares[p];
  };
  if (start.alone) {
    for (std::size_t k = 0; k < predictor_.size(); ++k)
      take(k, solve_joint_shares({&transfers[k], 1}, capacities).shares.front());
    return;
  }
  const JointShares solution = solve_joint_shares(transfers, capacities);
  for (std::size_t k = 0; k < predictor_.size(); ++k) take(k, solution.shares[k]);
}

// As many paths as the settings allow, the first one among them.
void JointStarts::keep_most_useful(JointDraft& draft) const {
  const auto most = static_cast<std::size_t>(predictor_.problem().limits.max_paths);
  for (Draft& own : draft.transfers) {
    if (own.paths.size() <= most) continue;
    std::stable_sort(own.paths.begin() + 1, own.paths.end(),
                     [](const PathDraft& a, const PathDraft& b) { return a.share > b.share; });
    own.paths.erase(own.paths.begin() + static_cast<std::ptrdiff_t>(most), own.paths.end());
  }
}

void JointStarts::sort_paths(JointDraft& draft) const {
  for (std::size_t k = 0; k < draft.transfers.size(); ++k) {
    Draft& own = draft.transfers[k];
    predictor_.splitter(k).drop_idle(own);
    std::stable_sort(own.paths.begin(), own.paths.end(),
                     [](const PathDraft& a, const PathDraft& b) {
                       if (a.path.staged() != b.path.staged()) return !a.path.staged();
                       return a.share > b.share;
                     });
  }
}

}  // namespace polypath::plan
