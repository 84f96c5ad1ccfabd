// Kernels for small pieces: whether they may be used, and loading them.

#include <algorithm>
#include <set>

#include "core/ignore_errors.h"
#include "engine/engine_many.h"
#include "plan/pieces/piece_kernels.h"

namespace polypath {
namespace {

// To ask about more of them takes longer than kernels save.
constexpr std::size_t kMostAllocations = 32;

std::vector<PlaceId> carriers_of(const Machine& machine, const Plan& plan) {
  std::vector<PlaceId> carriers;
  for (const PathShape& part : plan.shape.paths)
    if (const auto carrier = carrier_of(machine, part.path)) carriers.push_back(*carrier);
  return carriers;
}

std::set<Address> allocations_of(const PieceSet& set, std::span<const SetMember> members) {
  std::set<Address> allocations;
  for (const std::size_t number : set.members) {
    allocations.insert(members[number].source_allocation);
    allocations.insert(members[number].destination_allocation);
    if (allocations.size() > kMostAllocations) break;
  }
  return allocations;
}

}  // namespace

// True if all its GPUs have them, or will, and can use all the memory. The driver is asked each
// time: an address may be that of other memory by now. On a GPU without a context there is no
// kernel yet, and to ask would make one.
bool Engine::kernels_may(const PieceRecipe& recipe, const PieceSet& set,
                         std::span<const SetMember> members) {
  const std::set<Address> allocations = allocations_of(set, members);
  if (allocations.size() > kMostAllocations) return false;
  const std::vector<PlaceId> carriers = carriers_of(machine_, *recipe.plan);
  return std::all_of(carriers.begin(), carriers.end(), [&](PlaceId gpu) {
    if (kernels_.state_of(gpu) == LoadedKernels::State::unusable) return false;
    if (background_ && !driver_.is_open(gpu)) return true;
    return std::all_of(allocations.begin(), allocations.end(),
                       [&](Address allocation) { return driver_.kernels_reach(gpu, allocation); });
  });
}

// As provide.
FallbackReason Engine::provide_kernels(const PlanPointer& plan) {
  std::vector<PlaceId> missing;
  bool loading = false;
  for (const PlaceId gpu : carriers_of(machine_, *plan)) {
    const LoadedKernels::State state = kernels_.state_of(gpu);
    if (state == LoadedKernels::State::unusable) return FallbackReason::failed;
    if (state == LoadedKernels::State::missing) missing.push_back(gpu);
    loading = loading || state == LoadedKernels::State::loading;
  }
  if (missing.empty()) return loading ? FallbackReason::preparing : FallbackReason::none;
  if (background_) {
    if (!is_worth_preparing(*plan, 1)) return FallbackReason::preparing;
    for (const PlaceId gpu : missing) kernels_.expect(gpu);
    maker_->post([=, this] { load_kernels(plan, missing); });
    return FallbackReason::preparing;
  }
  open_hops(*plan);
  for (const PlaceId gpu : missing) kernels_.install(gpu, kernels_.make(gpu));
  return provide_kernels(plan);
}

// In the background: the lock is held for moments only.
void Engine::load_kernels(const PlanPointer& plan, const std::vector<PlaceId>& gpus) {
  open_hops(*plan);
  for (const PlaceId gpu : gpus) {
    LoadedKernels::OfGpu made = kernels_.make(gpu);
    const std::scoped_lock lock(mutex_);
    kernels_.install(gpu, std::move(made));
  }
}

// The copy that needs a hop reports it if the hop cannot be opened.
void Engine::open_hops(const Plan& plan) noexcept {
  for (const PathShape& part : plan.shape.paths)
    for (const HopId hop : {part.path.first, part.path.second})
      if (hop.valid())
        ignore_errors([&] {
          const Hop& opened = machine_.hop(hop);
          driver_.open_hop(opened.source, opened.destination, hop.pulled);
        });
}

}  // namespace polypath
