#include "engine/prepare/kernel_preparer.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "core/ignore_errors.h"
#include "plan/pieces/piece_kernels.h"

namespace polypath::engine {
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
  Address source, destination;  // of the member before, which most share
  for (const std::size_t number : set.members) {
    const SetMember& member = members[number];
    if (member.source_allocation == source && member.destination_allocation == destination)
      continue;
    source = member.source_allocation, destination = member.destination_allocation;
    allocations.insert({source, destination});
    if (allocations.size() > kMostAllocations) break;
  }
  return allocations;
}

}  // namespace

KernelPreparer::KernelPreparer(Driver& driver, const Machine& machine, BriefMutex& mutex,
                               LoadedKernels& kernels, PreparationBudget& budget,
                               Background* background)
    : driver_(driver),
      machine_(machine),
      mutex_(mutex),
      kernels_(kernels),
      budget_(budget),
      background_(background) {}

// The driver is asked each time: an address may be that of other memory by now. On a GPU without a
// context there is no kernel yet, and to ask would make one.
bool KernelPreparer::may_run(const PieceRecipe& recipe, const PieceSet& set,
                             std::span<const SetMember> members) {
  const std::set<Address> allocations = allocations_of(set, members);
  if (allocations.size() > kMostAllocations) return false;
  const std::vector<PlaceId> carriers = carriers_of(machine_, *recipe.plan);
  return std::all_of(carriers.begin(), carriers.end(), [&](PlaceId gpu) {
    if (kernels_.state_of(gpu) == LoadedKernels::State::unusable) return false;
    if (background_ != nullptr && !driver_.is_open(gpu)) return true;
    return std::all_of(allocations.begin(), allocations.end(),
                       [&](Address allocation) { return driver_.kernels_reach(gpu, allocation); });
  });
}

FallbackReason KernelPreparer::provide(const PlanPointer& plan) {
  std::vector<PlaceId> missing;
  bool loading = false;
  for (const PlaceId gpu : carriers_of(machine_, *plan)) {
    const LoadedKernels::State state = kernels_.state_of(gpu);
    if (state == LoadedKernels::State::unusable) return FallbackReason::failed;
    if (state == LoadedKernels::State::missing) missing.push_back(gpu);
    loading = loading || state == LoadedKernels::State::loading;
  }
  if (missing.empty()) return loading ? FallbackReason::preparing : FallbackReason::none;
  if (background_ != nullptr) {
    if (!budget_.pays(*plan, 1)) return FallbackReason::preparing;
    for (const PlaceId gpu : missing) kernels_.expect(gpu);
    background_->post([=, this] { load(plan, missing); });
    return FallbackReason::preparing;
  }
  open_hops(*plan);
  for (const PlaceId gpu : missing) kernels_.install(gpu, kernels_.make(gpu));
  return provide(plan);
}

// In the background: the lock is held for moments only.
void KernelPreparer::load(const PlanPointer& plan, const std::vector<PlaceId>& gpus) {
  open_hops(*plan);
  for (const PlaceId gpu : gpus) {
    LoadedKernels::OfGpu made = kernels_.make(gpu);
    const std::scoped_lock lock(mutex_);
    kernels_.install(gpu, std::move(made));
  }
}

// The copy that needs a hop reports it if the hop cannot be opened.
void KernelPreparer::open_hops(const Plan& plan) noexcept {
  for (const PathShape& part : plan.shape.paths)
    for (const HopId hop : {part.path.first, part.path.second})
      if (hop.valid())
        ignore_errors([&] {
          const Hop& opened = machine_.hop(hop);
          driver_.open_hop(opened.source, opened.destination, hop.pulled);
        });
}

}  // namespace polypath::engine
