#include "engine/pageable/pageable_times.h"

#include <algorithm>

namespace polypath {
namespace {

constexpr int kFirstNativePeriod = 2;   // one in so many goes natively at first
constexpr double kMostForTries = 0.01;  // of all copies' time, once both are known
constexpr int kLeastPeriod = 16;
constexpr double kPlainlySlower = 2;  // then one native copy tells enough
constexpr int kTimedPeriod = 8;       // one native copy in so many, where that is the faster way

}  // namespace

PageableTimes::Record& PageableTimes::record_of(const TransferKind& kind) {
  Record* const record = records_.find(kind);
  return record != nullptr ? *record : records_.insert(kind, {});
}

PageableTimes::Advice PageableTimes::suggest(const TransferKind& kind) {
  Record& record = record_of(kind);
  const bool other = is_tried_otherwise(record);
  if ((record.way == PageableWay::native) == other) return {};
  return {.way = PageableWay::native, .timed = other || record.since_tried % kTimedPeriod == 0};
}

bool PageableTimes::is_tried_otherwise(Record& record) {
  ++record.since_tried;
  if (!record.windows.enough()) return false;
  if (record.since_tried < try_period(record)) return false;
  record.since_tried = 0;
  return true;
}

// Each native copy that is only timed costs a program that loads its weights what it would gain.
bool PageableTimes::are_known(const Record& record) {
  if (!record.windows.enough()) return false;
  if (record.native.enough()) return true;
  const Seconds slow = record.windows.median() * kPlainlySlower;
  return !record.native.empty() && record.native.median() > slow;
}

// One in so many goes the other way: where that takes r times as long, p copies take p + r - 1
// times what one does.
int PageableTimes::try_period(const Record& record) {
  if (!are_known(record)) return kFirstNativePeriod;
  const Seconds windows = record.windows.median(), native = record.native.median();
  const double longer = std::max(windows / native, native / windows);
  return std::max(kLeastPeriod, static_cast<int>(std::min((longer - 1) / kMostForTries, 1e6)));
}

void PageableTimes::note(const TransferKind& kind, PageableWay way, Seconds took) {
  Record& record = record_of(kind);
  if (way == PageableWay::native) record.native.add(took);
  else if (record.is_warm) record.windows.add(took);
  else record.is_warm = true;
  choose(record);
}

void PageableTimes::choose(Record& record) {
  if (!are_known(record)) return;
  const Seconds windows = record.windows.median(), native = record.native.median();
  if (native < windows * kClearlyFaster) record.way = PageableWay::native;
  if (windows < native * kClearlyFaster) record.way = PageableWay::windows;
}

}  // namespace polypath
