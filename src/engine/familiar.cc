#include "engine/familiar.h"

namespace polypath {
namespace {

constexpr int kPageShift = 12;

bool same(const FamiliarCopies::Entry& a, const FamiliarCopies::Entry& b) {
  return a.source_page == b.source_page && a.destination_page == b.destination_page &&
         a.bytes == b.bytes && a.stream_gpu == b.stream_gpu;
}

bool has_options(const PlanOptions& options) {
  return options.executor != ExecutorChoice::automatic || options.forced() ||
         !options.chunks.empty() || options.both_ways;
}

}  // namespace

FamiliarCopies::Entry FamiliarCopies::likeness_of(const CopyCall& call) const {
  return {call.source.value >> kPageShift,
          call.destination.value >> kPageShift,
          call.bytes < smallest_planned_ ? Bytes{} : call.bytes,
          call.stream_gpu,
          kUses,
          nullptr};
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

void FamiliarCopies::remember(const CopyCall& call, const PlanPointer& plan) {
  if (has_options(call.options)) return;
  Entry likeness = likeness_of(call);
  likeness.plan = plan;
  slot_of(likeness) = likeness;
}

void FamiliarCopies::forget(const CopyCall& call) { slot_of(likeness_of(call)).uses_left = 0; }

}  // namespace polypath
