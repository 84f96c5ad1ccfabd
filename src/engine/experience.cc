#include "engine/experience.h"

#include <algorithm>
#include <utility>

#include "core/median.h"

namespace polypath {
namespace {

constexpr int kWarmUp = 2;          // transfers that only make what they need
constexpr std::size_t kEnough = 3;  // times for a median
constexpr std::size_t kRemembered = 5;
constexpr int kOwnPeriod = 32;    // one in so many is timed
constexpr int kTryPeriod = 192;   // and one in so many is made the slower way
constexpr int kFirstTries = 48;   // until that way has been timed often enough
constexpr int kTriesInDoubt = 3;  // and where the prediction is in doubt

constexpr double kAsPredicted = 1.05;  // up to here a time is no reason for doubt
constexpr double kHardlyGains = 0.95;  // of the native prediction
constexpr double kClearlySlower = 1.01, kClearlyFaster = 0.97;

constexpr double kWorthLevelling = 0.99;  // all paths together would end so much earlier
constexpr int kMostLevellings = 5;
constexpr double kDamping = 0.6;   // of the next step, where one has led too far
constexpr double kBetter = 0.995;  // than the best so far: a split that is kept
constexpr double kChunkStep = 1.5;
constexpr int kMostChunkSteps = 2;

// Where a path of one ends later because of the others, its own shares are not to blame.
bool is_in_company(const TransferKind& kind) {
  return kind.both_ways != BothWays::no || kind.beside_processes || !kind.company.empty();
}

}  // namespace

TransferKind kind_of(const Asked& asked, const Contention& contention) {
  TransferKind kind{.source = asked.source,
                    .destination = asked.destination,
                    .size = size_class(asked.bytes),
                    .both_ways = contention.both_ways,
                    .beside_processes = !contention.foreign_load.empty()};
  for (const Companion& each : contention.load)
    kind.company.emplace_back(each.source, each.destination, size_class(each.bytes));
  return kind;
}

void Experience::Samples::add(Seconds time) {
  if (times_.size() == kRemembered) times_.erase(times_.begin());
  times_.push_back(time);
}

bool Experience::Samples::enough() const { return times_.size() >= kEnough; }

Seconds Experience::Samples::median() const {
  std::vector<double> values;
  for (const Seconds time : times_) values.push_back(time.value);
  return Seconds{polypath::median(std::move(values))};
}

Experience::Record& Experience::record_of(const TransferKind& kind) {
  if (Record* const record = records_.find(kind)) return *record;
  Record record;
  if (is_in_company(kind)) record.stage = Stage::settled;
  return records_.insert(kind, std::move(record));
}

const Split* Experience::split(const TransferKind& kind) {
  const Record* record = records_.find(kind);
  return record == nullptr || record->known.split == Split{} ? nullptr : &record->known.split;
}

Advice Experience::advise(const TransferKind& kind, const Plan& plan, bool may_be_timed) {
  Record& record = record_of(kind);
  ++record.known.transfers;
  const bool warm = record.known.transfers > kWarmUp;
  Advice advice{.natively = record.known.natively};
  if (warm && may_be_timed) advice = advise(record, plan);
  advice.version = record.version;
  return advice;
}

Advice Experience::advise(Record& record, const Plan& plan) {
  const bool natively = record.known.natively;
  if (record.stage == Stage::shares && !natively && plan.shape.paths.size() > 1)
    return {.timed = true, .path_by_path = true};
  const Samples& own = natively ? record.native : record.paths;
  const Samples& other = natively ? record.paths : record.native;
  ++record.since_timed, ++record.since_tried;
  const bool in_doubt = is_doubtful(record, plan);
  const int first_tries = in_doubt ? kTriesInDoubt : kFirstTries;
  if (own.enough() && record.since_tried >= (other.enough() ? kTryPeriod : first_tries)) {
    record.since_tried = 0;
    return {.natively = !natively, .timed = true};
  }
  const bool timed = !own.enough() || record.since_timed >= kOwnPeriod;
  if (timed) record.since_timed = 0;
  return {.natively = natively, .timed = timed};
}

bool Experience::is_doubtful(const Record& record, const Plan& plan) {
  if (record.paths.empty()) return false;
  const Seconds took = record.paths.median();
  return took > plan.predicted * kAsPredicted || took > plan.native_predicted * kHardlyGains;
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
      record.best_took = record.paths.median();
      return enter(record, Stage::shares);
    case Stage::shares: return level(record, leveller);
    case Stage::levelled:
      (void)is_best(record);
      enter(record, Stage::more_chunks);
      return vary_chunks(record);
    case Stage::more_chunks:
    case Stage::fewer_chunks: return vary_chunks(record);
    case Stage::settled: return;
  }
}

// Where one path's end moves those of others, a step may make things worse, and the next one
// better than ever.
void Experience::level(Record& record, const Leveller& leveller) {
  const Seconds took = record.paths.median();
  if (took < record.best_timed * kBetter)
    record.best_timed = took, record.levelled = record.known.split;
  else record.damping *= kDamping;
  std::vector<Seconds> each;
  for (const Samples& path : record.each) each.push_back(path.median());
  const auto levelled = each.empty() ? std::nullopt : leveller(each, record.damping);
  const bool worth = levelled && levelled->expected < levelled->before * kWorthLevelling;
  if (worth && record.rounds++ < kMostLevellings)
    return try_split(record, {.shares = levelled->shares});
  enter(record, Stage::levelled);
  if (record.stage == Stage::levelled) try_split(record, record.levelled);
}

// If so, the split that has been tried is the best from here on.
bool Experience::is_best(Record& record) {
  const Seconds took = record.paths.median();
  if (took >= record.best_took * kBetter) return false;
  record.best = record.known.split;
  record.best_took = took;
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
  Split next = record.best;
  next.chunks *= more ? kChunkStep : 1 / kChunkStep;
  try_split(record, next);
}

// Goes on from the best so far.
void Experience::enter(Record& record, Stage stage) {
  record.stage = stage;
  record.rounds = 0;
  if (record.best.shares.size() == 1 && record.best.shares.contains("direct"))
    record.known.natively = true, record.stage = Stage::settled;
  try_split(record, record.best);
}

// Times of another split say nothing about this one.
void Experience::try_split(Record& record, const Split& split) {
  record.known.split = split;
  ++record.version;
  record.paths.clear();
  record.each.clear();
}

void Experience::choose(Record& record) {
  Learnt& known = record.known;
  if (!record.paths.empty()) known.paths = record.paths.median();
  if (!record.native.empty()) known.native = record.native.median();
  if (!record.paths.enough() || !record.native.enough()) return;
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
  if (learnt.natively || !(learnt.split == Split{})) record.stage = Stage::settled;
  records_.insert(kind, std::move(record));
}

}  // namespace polypath
