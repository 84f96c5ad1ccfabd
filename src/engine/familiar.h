#pragma once
// Copies that lately went as one native copy, so that the next one like them can go at once,
// without asking the driver what memory it is between.
//
// Copies are alike if they have the same size (or are all too small to plan) between the same pages
// of memory. Since the last one the program may have freed that memory and have other memory there.
// That is harmless: a native copy is right between memories of any kind, and all that is remembered
// is that there was nothing to gain. Every kUses copies the memory is looked at again all the same.

#include <array>
#include <cstdint>

#include "engine/copy_call.h"

namespace polypath {

class FamiliarCopies {
 public:
  /// A copy's likeness is forgotten after so many uses.
  static constexpr int kUses = 64;

  struct Entry {
    std::uint64_t source_page = 0;
    std::uint64_t destination_page = 0;
    Bytes bytes;  ///< zero stands for every size too small to plan
    PlaceId stream_gpu;
    ExecutorChoice executor = ExecutorChoice::automatic;
    int uses_left = 0;
    PlanPointer plan;                   ///< of the native copy; null for a size too small to plan
    bool alone = false;                 ///< it went natively with nothing else in flight
    BothWays both_ways = BothWays::no;  ///< and beside one as large the other way
    bool may_block = false;             ///< the memory was not device or pinned memory
  };

  /// Sizes below `smallest_planned` are all alike.
  explicit FamiliarCopies(Bytes smallest_planned) : smallest_planned_(smallest_planned) {}

  /// What is remembered of copies like this one; null if nothing is. Counts as a use.
  [[nodiscard]] const Entry* find(const CopyCall& call);
  /// Remembers a copy that went natively by `plan`, or without one. Copies with options of their
  /// own are not remembered, but for the executor.
  void remember(const CopyCall& call, const PlanPointer& plan, BothWays both_ways);
  /// Remembers one too small to plan.
  void remember_small(const CopyCall& call, bool may_block);
  void forget(const CopyCall& call);

 private:
  void insert(const CopyCall& call, const Entry& entry);
  [[nodiscard]] Entry likeness_of(const CopyCall& call) const;
  [[nodiscard]] Entry& slot_of(const Entry& likeness);

  Bytes smallest_planned_;
  std::array<Entry, 256> entries_;  ///< by hash; a newer one takes an older one's place
};

}  // namespace polypath
