#include "engine/learn/way_times.h"

#include <algorithm>

namespace polypath::engine {
namespace {

constexpr int kFirstNativePeriod = 2;   // one in so many goes natively at first
constexpr double kMostForTries = 0.01;  // of all copies' time, once both are known
constexpr int kLeastPeriod = 16;
constexpr double kPlainlySlower = 2;        // then one native copy tells enough
constexpr int kTimedPeriod = 8;             // one copy in so many of the way that is taken
constexpr double kMostForFirstTries = 0.1;  // of all that ours have taken

}  // namespace

WayTimes::Record& WayTimes::record_of(const TransferKind& kind) {
  Record* const record = records_.find(kind);
  return record != nullptr ? *record : records_.insert(kind, {});
}

WayTimes::Advice WayTimes::suggest(const TransferKind& kind, const NativeTime& native) {
  Record& record = record_of(kind);
  const bool other = is_tried_otherwise(record, native);
  const bool timed = other || record.since_tried % kTimedPeriod == 0;
  const bool natively = (record.way == ComparedWay::native) != other;
  if (!natively) return {.timed = timed || !record.ours.enough()};
  record.native_tries += other ? 1 : 0;
  return {.way = ComparedWay::native, .timed = timed};
}

bool WayTimes::goes_natively(const TransferKind& kind) {
  const Record* const record = records_.find(kind);
  return record != nullptr && record->way == ComparedWay::native;
}

bool WayTimes::is_tried_otherwise(Record& record, const NativeTime& native) {
  ++record.since_tried;
  if (!record.ours.enough()) return false;
  if (record.way == ComparedWay::ours && !may_try_native(record, native)) return false;
  if (record.since_tried < try_period(record)) return false;
  record.since_tried = 0;
  return true;
}

bool WayTimes::may_try_native(const Record& record, const NativeTime& native) {
  if (record.ours.median() <= native.at_best) return false;
  return are_known(record) ||
         native.expected * (record.native_tries + 1) <= record.spent * kMostForFirstTries;
}

// Each native copy that is only timed costs a program that loads its weights what it would gain.
bool WayTimes::are_known(const Record& record) {
  if (!record.ours.enough()) return false;
  if (record.native.enough()) return true;
  const Seconds slow = record.ours.median() * kPlainlySlower;
  return !record.native.empty() && record.native.median() > slow;
}

// One in so many goes the other way: where that takes r times as long, p copies take p + r - 1
// times what one does.
int WayTimes::try_period(const Record& record) {
  if (!are_known(record)) return kFirstNativePeriod;
  const Seconds ours = record.ours.median(), native = record.native.median();
  const double longer = std::max(ours / native, native / ours);
  return std::max(kLeastPeriod, static_cast<int>(std::min((longer - 1) / kMostForTries, 1e6)));
}

void WayTimes::note(const TransferKind& kind, ComparedWay way, Seconds took) {
  Record& record = record_of(kind);
  if (way == ComparedWay::native) record.native.add(took);
  else if (record.is_warm) record.ours.add(took), record.spent += took;
  else record.is_warm = true;
  choose(record);
}

void WayTimes::choose(Record& record) {
  if (!are_known(record)) return;
  const Seconds ours = record.ours.median(), native = record.native.median();
  if (native < ours * kClearlyFaster) record.way = ComparedWay::native;
  if (ours < native * kClearlyFaster) record.way = ComparedWay::ours;
}

}  // namespace polypath::engine
