#include "engine/learn/experience.h"

#include <algorithm>
#include <climits>
#include <utility>

namespace polypath::engine {
namespace {

constexpr int kWarmUp = 2;       // transfers that only make what they need
constexpr int kFirstPeriod = 2;  // one in so many is timed at first; or natively, in grave doubt
constexpr int kGravePeriod = 4;  // and tries another split
constexpr int kMildPeriod = 16;  // the same otherwise
constexpr int kOwnPeriod = 32;   // one in so many is timed in the end
constexpr int kFirstTries = 48;  // one in so many goes natively without any doubt
constexpr int kTryPeriod = 192;  // and once that has been timed often enough

constexpr double kAsPredicted = 1.1;   // up to here a time is no reason for doubt
constexpr double kHardlyGains = 0.97;  // of the native prediction
constexpr double kClearlySlower = 1.01;

constexpr double kWorthLevelling = 0.99;  // all paths together would end so much earlier
constexpr int kMostLevellings = 5;
constexpr double kDamping = 0.6;   // of the next step, where one has led too far
constexpr double kBetter = 0.995;  // than the best so far: a split that is kept
constexpr double kChunkStep = 1.5;
constexpr int kMostChunkSteps = 2;

}  // namespace

Experience::Record& Experience::record_of(const TransferKind& kind) {
  Record* const record = records_.find(kind);
  return record != nullptr ? *record : records_.insert(kind, {});
}

Advice Experience::suggest(const TransferKind& kind, const Plan& plan, MayTime may) {
  Record& record = record_of(kind);
  ++record.known.transfers;
  Advice advice{.natively = record.known.natively, .split = record.known.split};
  if (may != MayTime::nothing && record.known.transfers > kWarmUp)
    advice = suggest(record, plan, may);
  advice.version = record.version;
  return advice;
}

Advice Experience::suggest(Record& record, const Plan& plan, MayTime may) {
  ++record.since_timed, ++record.since_tried;
  record.doubt = doubt_of(record, plan);
  record.was_doubted |= record.doubt != Doubt::none;
  const bool natively = record.known.natively;
  const bool tries = record.stage != Stage::settled && record.stage != Stage::as_planned;
  if (may == MayTime::what_is_known && tries)
    return {.natively = natively, .split = record.known.split};
  if (may == MayTime::anything && is_tried_otherwise(record))
    return {.natively = !natively, .timed = true, .split = record.known.split, .trial = true};
  const bool timed = is_timed(record);
  const bool is_trial = timed && record.stage != Stage::settled;
  return {.natively = natively && !is_trial,
          .timed = timed,
          .path_by_path = is_trial && record.stage == Stage::shares && plan.shape.paths.size() > 1,
          .split = is_trial ? record.tried : record.known.split,
          .trial = timed && tries};
}

// True if it is time for what is slower, or not known yet.
bool Experience::is_tried_otherwise(Record& record) {
  const bool known = (record.known.natively ? record.paths : record.native).enough();
  const auto period = [&] {
    if (known) return record.stage == Stage::settled ? kTryPeriod : INT_MAX;
    if (record.doubt == Doubt::grave) return kFirstPeriod;
    return record.doubt == Doubt::mild ? kMildPeriod : kFirstTries;
  };
  const bool anything_to_compare = !record.paths.empty() || record.took < Seconds::infinity();
  if (!anything_to_compare || record.since_tried < period()) return false;
  record.since_tried = 0;
  return true;
}

bool Experience::is_timed(Record& record) {
  const auto period = [&] {
    if (record.stage == Stage::settled) return kOwnPeriod;
    if (record.stage == Stage::as_planned) return kFirstPeriod;
    return record.doubt == Doubt::grave ? kGravePeriod : kMildPeriod;
  };
  if (record.since_timed < period()) return false;
  record.since_timed = 0;
  return true;
}

// By the plan as it is, or what has been found better.
Experience::Doubt Experience::doubt_of(const Record& record, const Plan& plan) {
  const bool first = record.stage == Stage::as_planned;
  if (first && record.paths.empty()) return Doubt::none;
  const Seconds took = first ? record.paths.median() : record.took;
  if (took > plan.native_predicted) return Doubt::grave;
  const bool mild =
      took > plan.predicted * kAsPredicted || took > plan.native_predicted * kHardlyGains;
  return mild ? Doubt::mild : Doubt::none;
}

void Experience::note_native(const TransferKind& kind, Seconds took) {
  Record& record = record_of(kind);
  record.native.add(took);
  choose(record);
  note_change(record);
}

void Experience::note_paths(const TransferKind& kind, int version, const Timing& timing,
                            const Leveller& leveller) {
  Record& record = record_of(kind);
  if (version != record.version) return;
  record.paths.add(timing.whole);
  if (record.stage == Stage::shares) add_each(record, timing);
  if (record.paths.enough()) improve(record, leveller);
  choose(record);
  note_change(record);
}

// While splits are tried nothing is certain yet.
void Experience::note_change(Record& record) {
  const Learnt& known = record.known;
  const bool settled = record.stage == Stage::settled || known.natively;
  if (!settled || (known.natively == record.kept.natively && known.split == record.kept.split &&
                   record.kept.transfers > 0))
    return;
  record.kept = known;
  ++changes_;
}

void Experience::add_each(Record& record, const Timing& timing) {
  record.each.resize(timing.paths.size());
  for (std::size_t p = 0; p < timing.paths.size(); ++p) record.each[p].add(timing.paths[p]);
}

// With three times of the split that is tried.
void Experience::improve(Record& record, const Leveller& leveller) {
  switch (record.stage) {
    case Stage::as_planned:
      record.took = record.paths.median();
      return enter(record, Stage::shares);
    case Stage::shares: return level(record, leveller);
    case Stage::rebalanced: (void)is_best(record); return end_of_shares(record);
    case Stage::more_chunks:
    case Stage::fewer_chunks: return vary_chunks(record);
    case Stage::settled: record.took = record.paths.median(); return;
  }
}

// Where one path's end moves those of others, a step may make things worse, and the next one
// better than ever.
void Experience::level(Record& record, const Leveller& leveller) {
  const Seconds took = record.paths.median();
  if (took < record.levelled_took * kBetter)
    record.levelled_took = took, record.rebalanced = record.tried;
  else record.damping *= kDamping;
  std::vector<Seconds> each;
  for (const RecentTimes& path : record.each) each.push_back(path.median());
  const auto rebalanced = each.empty() ? std::nullopt : leveller(each, record.damping);
  const bool worth = rebalanced && rebalanced->expected < rebalanced->before * kWorthLevelling;
  if (worth && record.rounds++ < kMostLevellings)
    return try_split(record, {.shares = rebalanced->shares});
  const bool changed = !(record.rebalanced == record.known.split);
  if (!changed) return end_of_shares(record);
  enter(record, Stage::rebalanced);
  try_split(record, record.rebalanced);
}

// Without any doubt about the prediction the numbers of chunks are right, too.
void Experience::end_of_shares(Record& record) {
  enter(record, record.was_doubted ? Stage::more_chunks : Stage::settled);
  if (record.was_doubted) vary_chunks(record);
}

// If so, the split that has been tried is the best from here on.
bool Experience::is_best(Record& record) {
  const Seconds took = record.paths.median();
  if (took >= record.took * kBetter) return false;
  record.known.split = record.tried;
  record.took = took;
  return true;
}

// More, as long as that is better, else fewer.
void Experience::vary_chunks(Record& record) {
  const bool more = record.stage == Stage::more_chunks;
  if (record.rounds > 0) {
    const bool better = is_best(record);
    if (!better && more && record.rounds == 1) {
      enter(record, Stage::fewer_chunks);
      return vary_chunks(record);
    }
    if (!better || record.rounds == kMostChunkSteps) return enter(record, Stage::settled);
  }
  ++record.rounds;
  Split next = record.known.split;
  next.chunks *= more ? kChunkStep : 1 / kChunkStep;
  try_split(record, next);
}

// Goes on from the best so far.
void Experience::enter(Record& record, Stage stage) {
  record.stage = stage;
  record.rounds = 0;
  try_split(record, record.known.split);
}

// Times of another split say nothing about this one.
void Experience::try_split(Record& record, const Split& split) {
  record.tried = split;
  ++record.version;
  record.paths.clear();
  record.each.clear();
}

void Experience::choose(Record& record) {
  Learnt& known = record.known;
  if (record.took < Seconds::infinity()) known.paths = record.took;
  if (!record.native.empty()) known.native = record.native.median();
  if (known.paths == Seconds{} || !record.native.enough()) return;
  if (known.paths > known.native * kClearlySlower) known.natively = true;
  if (known.paths < known.native * kClearlyFaster) known.natively = false;
}

std::vector<std::pair<TransferKind, Learnt>> Experience::learnt() const {
  std::vector<std::pair<TransferKind, Learnt>> all;
  records_.for_each([&](const TransferKind& kind, const Record& record) {
    if (record.kept.transfers > 0) all.emplace_back(kind, record.kept);
  });
  return all;
}

void Experience::recall(const TransferKind& kind, const Learnt& learnt) {
  Record record;
  record.known = learnt;
  record.known.transfers = 0;
  record.kept = learnt;
  record.stage = Stage::settled;
  if (learnt.paths > Seconds{}) record.took = learnt.paths;
  records_.insert(kind, std::move(record));
}

}  // namespace polypath::engine
