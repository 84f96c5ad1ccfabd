#pragma once
// Kernels for small pieces: whether they may be used, and loading them, in the call or in the
// background.

#include <span>
#include <vector>

#include "core/background.h"
#include "core/brief_mutex.h"
#include "driver/driver.h"
#include "engine/call/copy_set.h"
#include "engine/call/piece_set.h"
#include "engine/execute/loaded_kernels.h"
#include "engine/prepare/preparation_budget.h"
#include "machine/machine.h"
#include "plan/pieces/piece_planner.h"

namespace polypath::engine {

/// Not thread-safe; the engine guards it by `mutex`, which background work takes, too.
class KernelPreparer {
 public:
  /// Without a `background` kernels are loaded in the call.
  KernelPreparer(Driver& driver, const Machine& machine, BriefMutex& mutex, LoadedKernels& kernels,
                 PreparationBudget& budget, Background* background);

  /// True if all the recipe's GPUs have them, or will, and can use all the memory.
  [[nodiscard]] bool may_run(const PieceRecipe& recipe, const PieceSet& set,
                             std::span<const SetMember> members);
  /// As Preparer::provide.
  [[nodiscard]] FallbackReason provide(const PlanPointer& plan);

 private:
  void load(const PlanPointer& plan, const std::vector<PlaceId>& gpus);
  void open_hops(const Plan& plan) noexcept;

  Driver& driver_;
  const Machine& machine_;
  BriefMutex& mutex_;
  LoadedKernels& kernels_;
  PreparationBudget& budget_;
  Background* background_;
};

}  // namespace polypath::engine
