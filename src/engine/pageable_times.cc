#include "engine/pageable_times.h"

namespace polypath {
namespace {

constexpr int kFirstPeriod = 2;  // one in so many goes natively at first
constexpr int kTryPeriod = 128;  // and goes the other way, once that has been timed often enough
constexpr int kTimedPeriod =
    8;  // one native copy in so many is timed where they are the faster way
constexpr double kClearlyFaster = 0.97;

}  // namespace

PageableTimes::Record& PageableTimes::record_of(const TransferKind& kind) {
  Record* const record = records_.find(kind);
  return record != nullptr ? *record : records_.insert(kind, {});
}

PageableTimes::Advice PageableTimes::advise(const TransferKind& kind) {
  Record& record = record_of(kind);
  const bool other = is_tried_otherwise(record);
  if ((record.way == PageableWay::native) == other) return {};
  return {.way = PageableWay::native, .timed = other || record.since_tried % kTimedPeriod == 0};
}

bool PageableTimes::is_tried_otherwise(Record& record) {
  ++record.since_tried;
  if (!record.windows.enough()) return false;
  if (record.since_tried < (record.native.enough() ? kTryPeriod : kFirstPeriod)) return false;
  record.since_tried = 0;
  return true;
}

void PageableTimes::note(const TransferKind& kind, PageableWay way, Seconds took) {
  Record& record = record_of(kind);
  if (way == PageableWay::native) record.native.add(took);
  else if (record.is_warm) record.windows.add(took);
  else record.is_warm = true;
  choose(record);
}

void PageableTimes::choose(Record& record) {
  if (!record.windows.enough() || !record.native.enough()) return;
  const Seconds windows = record.windows.median(), native = record.native.median();
  if (native < windows * kClearlyFaster) record.way = PageableWay::native;
  if (windows < native * kClearlyFaster) record.way = PageableWay::windows;
}

}  // namespace polypath
