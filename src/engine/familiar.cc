#include "engine/familiar.h"

namespace polypath {
namespace {

constexpr int kPageShift = 12;

bool same(const FamiliarCopies::Entry& a, const FamiliarCopies::Entry& b) {
  return a.source_page == b.source_page && a.destination_page == b.destination_page &&
         a.bytes == b.bytes && a.stream_gpu == b.stream_gpu && a.executor == b.executor;
}

bool has_options(const PlanOptions& options) {
  return options.forced() || !options.chunks.empty() || options.both_ways != BothWays::no;
}

}  // namespace

FamiliarCopies::Entry FamiliarCopies::likeness_of(const CopyCall& call) const {
  Entry entry;
  entry.source_page = call.source.value >> kPageShift;
  entry.destination_page = call.destination.value >> kPageShift;
  if (call.bytes >= smallest_planned_) entry.bytes = call.bytes;
  entry.stream_gpu = call.stream_gpu;
  entry.executor = call.options.executor;
  entry.uses_left = kUses;
  return entry;
}

// Fibonacci hashing: the upper bits of a product with 2^64 / φ are well mixed.
FamiliarCopies::Entry& FamiliarCopies::slot_of(const Entry& likeness) {
  const std::uint64_t mixed = (likeness.source_page * 31 + likeness.destination_page) * 31 +
                              likeness.bytes.value +
                              static_cast<std::uint64_t>(likeness.stream_gpu.value);
  return entries_[(mixed * 0x9e3779b97f4a7c15ULL) >> 56];
}

const FamiliarCopies::Entry* FamiliarCopies::find(const CopyCall& call) {
  const Entry likeness = likeness_of(call);
  Entry& entry = slot_of(likeness);
  if (entry.uses_left == 0 || !same(entry, likeness) || has_options(call.options)) return nullptr;
  --entry.uses_left;
  return &entry;
}

void FamiliarCopies::remember(const CopyCall& call, const PlanPointer& plan, BothWays both_ways) {
  Entry entry = likeness_of(call);
  const Entry& before = slot_of(entry);
  if (before.uses_left > 0 && same(before, entry)) {
    entry.alone = before.alone, entry.both_ways = before.both_ways;
    entry.uses_left = before.uses_left;
  }
  if (both_ways == BothWays::no) entry.alone = true;
  else entry.both_ways = both_ways;
  entry.plan = plan;
  insert(call, entry);
}

void FamiliarCopies::remember_small(const CopyCall& call, bool may_block) {
  Entry entry = likeness_of(call);
  entry.may_block = may_block;
  insert(call, entry);
}

void FamiliarCopies::insert(const CopyCall& call, const Entry& entry) {
  if (!has_options(call.options)) slot_of(entry) = entry;
}

void FamiliarCopies::forget(const CopyCall& call) { slot_of(likeness_of(call)).uses_left = 0; }

}  // namespace polypath
