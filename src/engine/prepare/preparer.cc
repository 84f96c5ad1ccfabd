#include "engine/prepare/preparer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>

#include "core/ignore_errors.h"
#include "core/log.h"

namespace polypath::engine {

Preparer::Preparer(Driver& driver, const Machine& machine, BriefMutex& mutex, Lanes& lanes,
                   PlanFinder& plans, PreparationBudget& budget, BackgroundThreads threads)
    : driver_(driver),
      machine_(machine),
      mutex_(mutex),
      lanes_(lanes),
      plans_(plans),
      budget_(budget),
      threads_(threads) {}

FallbackReason Preparer::provide(Lane& lane, const PlanPointer& plan, int copies) {
  if (is_ready(lane, *plan)) return FallbackReason::none;
  if (threads_.making != nullptr) return provide_later(lane, plan, copies);
  for (const PathShape& part : plan->shape.paths) {
    HopParts parts = lane.hops().missing(part.path);
    if (parts.empty()) continue;
    if (!make(lane, part.path, parts)) {
      plans_.leave_out(staging_place(machine_, part.path), LeftOutBecause::preparation_failed);
      return FallbackReason::failed;
    }
    lane.hops().install(std::move(parts));
  }
  return FallbackReason::none;
}

bool Preparer::is_ready(const Lane& lane, const Plan& plan) {
  return std::ranges::all_of(plan.shape.paths, [&](const PathShape& part) {
    return lane.hops().missing(part.path).empty();
  });
}

FallbackReason Preparer::provide_later(Lane& lane, const PlanPointer& plan, int copies) {
  const std::pair wanted{&lane, plan};
  if (preparing_.contains(wanted)) return FallbackReason::preparing;
  const int put_off = only_put_off(lane, *plan);
  if (!budget_.pays(*plan, copies, put_off)) return FallbackReason::preparing;
  preparing_[wanted] = {.shortages = shortages_, .all = put_off > 0};
  threads_.making->post([=, this, lane = &lane] { prepare(lane, plan); });
  return FallbackReason::preparing;
}

void Preparer::prepare_once_planned(const CopyCall& call, const PlanRequest& request) {
  if (threads_.planning == nullptr || call.options.asks_for_paths()) return;
  const Unplanned copies{call.stream, request.source, request.destination, request.bytes};
  int& count = unplanned_[copies];
  const bool is_first = count == 0;
  count += 1 + call.unasked;
  if (!is_first) return;
  threads_.planning->post([=, this] { prepare_planned(copies, request); });
}

CopyResult Preparer::count_native(const CopyCall& call, const PlanRequest& request) {
  const PlanPointer plan = plans_.find(request);
  if (!plan) {
    prepare_once_planned(call, request);
    return {.obstacle = FallbackReason::preparing};
  }
  if (plan->executor() == Executor::native || lanes_.any_held_beside(call.stream)) return {};
  Lane* const lane = lanes_.lend(call.stream);
  if (lane == nullptr || provide(*lane, plan, 1 + call.unasked) != FallbackReason::preparing ||
      !ready_relays(*plan, *lane).empty())
    return {};
  const Seconds gain = plan->native_predicted - plan->predicted;
  return {.obstacle = FallbackReason::preparing,
          .missed = std::max(gain, Seconds{}) * (1.0 + call.unasked)};
}

// In the background, behind the planning.
void Preparer::prepare_planned(const Unplanned& copies, const PlanRequest& request) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = unplanned_.extract(copies);
  ignore_errors([&] {
    const PlanPointer plan = plans_.find(request);
    if (found.empty() || !plan || plan->executor() == Executor::native) return;
    Lane* lane = lanes_.any_held_beside(copies.stream) ? nullptr : lanes_.lend(copies.stream);
    if (lane == nullptr) return;
    if (!is_ready(*lane, *plan)) (void)provide_later(*lane, plan, found.mapped());
  });
}

PlaceSet Preparer::ready_relays(const Plan& plan, StreamHandle stream) {
  const Lane* lane = lanes_.lend(stream);
  return lane != nullptr ? ready_relays(plan, *lane) : PlaceSet{};
}

PlaceSet Preparer::ready_relays(const Plan& plan, const Lane& lane) const {
  PlaceSet ready;
  for (const PathShape& part : plan.shape.paths)
    if (part.path.staged() && lane.hops().missing(part.path).empty())
      ready.insert(staging_place(machine_, part.path));
  return ready;
}

std::set<PlaceId> Preparer::contexts_to_make(const Path& path) {
  std::set<PlaceId> gpus{machine_.executing_gpu(path.first)};
  if (path.staged()) gpus.insert(machine_.executing_gpu(path.second));
  std::erase_if(gpus, [this](PlaceId gpu) { return driver_.is_open(gpu); });
  return gpus;
}

// The number of contexts that the plan lacks, if each path that is not ready waits for a context
// that was put off; else 0.
int Preparer::only_put_off(const Lane& lane, const Plan& plan) {
  if (put_off_.empty()) return 0;
  std::set<PlaceId> all;
  for (const PathShape& part : plan.shape.paths) {
    if (lane.hops().missing(part.path).empty()) continue;
    const std::set<PlaceId> gpus = contexts_to_make(part.path);
    if (!std::ranges::any_of(gpus, [this](PlaceId gpu) { return put_off_.contains(gpu); }))
      return 0;
    all.insert(gpus.begin(), gpus.end());
  }
  return static_cast<int>(all.size());
}

// In the background, without the lock.
PlaceSet Preparer::used_by_others(const Path& path) noexcept {
  PlaceSet found;
  (void)ignore_errors([&] {
    for (const PlaceId gpu : contexts_to_make(path))
      if (driver_.is_used_by_others(gpu)) found.insert(gpu);
  });
  return found;
}

// In the background: the lock is held for moments only. When the program has run short of memory
// meanwhile, or ends, nothing more is made; preparations that had not begun are dropped, and then
// the lane may be gone.
void Preparer::prepare(Lane* lane, const PlanPointer& plan) {
  std::unique_lock lock(mutex_);
  const auto found = preparing_.find({lane, plan});
  if (found == preparing_.end()) return;
  found->second.begun = true;
  const auto [shortages, begun, all] = found->second;
  for (const PathShape& part : plan->shape.paths) {
    if (shortages_ != shortages || !threads_.making->pause({})) break;
    HopParts parts = lane->hops().missing(part.path);
    if (parts.empty()) continue;
    lock.unlock();
    const PlaceSet others = all ? PlaceSet{} : used_by_others(part.path);
    const bool made = others.empty() && make(*lane, part.path, parts);
    lock.lock();
    put_off_ |= others;
    if (made) install(*lane, *plan, std::move(parts));
    else if (others.empty())
      plans_.leave_out(staging_place(machine_, part.path), LeftOutBecause::preparation_failed);
  }
  preparing_.erase(found);
}

// Copies over the relays that are ready are planned before the next one asks for that.
void Preparer::install(Lane& lane, const Plan& plan, HopParts parts) {
  lane.hops().install(std::move(parts));
  if (is_ready(lane, plan)) return;
  const PlanRequest request{plan.source, plan.destination, plan.bytes, plans_.complete({})};
  (void)plans_.find(plans_.limited_to(ready_relays(plan, lane), request));
}

void Preparer::drop_preparations_not_begun() noexcept {
  const std::scoped_lock lock(mutex_);
  std::erase_if(preparing_, [](const auto& entry) { return !entry.second.begun; });
}

// Said once per place, because no plan uses it afterwards.
bool Preparer::make(const Lane& lane, const Path& path, HopParts& parts) noexcept {
  try {
    for (const HopId hop : {path.first, path.second})
      driver_.open_hop(machine_.hop(hop).source, machine_.hop(hop).destination, hop.pulled);
    lane.hops().make(parts);
    return true;
  } catch (const std::exception& error) {
    log(LogLevel::warning,
        fmt::format("no copies over {} from here on: {}", name_of(machine_, path), error.what()));
    return false;
  }
}

// Destroyed without the lock. Lanes that something is being made for are kept.
bool Preparer::give_back_idle() noexcept {
  std::unique_lock lock(mutex_);
  Lanes::Taken taken =
      lanes_.take_idle([this](const Lane& lane) { return is_being_prepared(lane); });
  lock.unlock();
  return !taken.empty();
}

bool Preparer::give_back(Seconds timeout) noexcept {
  constexpr auto kPause = std::chrono::microseconds(50);
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout.value);
  for (bool any = false;;) {
    const bool more = any_gone_soon();  // before: work that ends meanwhile is for the next time
    any |= give_back_idle();
    if (!more || std::chrono::steady_clock::now() > until) return any;
    std::this_thread::sleep_for(kPause);
  }
}

bool Preparer::release_memory(Seconds timeout) noexcept {
  ++shortages_;
  drop_preparations_not_begun();
  return give_back(timeout);
}

// A plan may be made, and its memory allocated, after the last copy.
bool Preparer::has_staging() const {
  const std::scoped_lock lock(mutex_);
  return !lanes_.empty() || !unplanned_.empty();
}

bool Preparer::any_gone_soon() {
  const std::scoped_lock lock(mutex_);
  return !preparing_.empty() || lanes_.any_ends_soon();
}

bool Preparer::is_being_prepared(const Lane& lane) const {
  return std::any_of(preparing_.begin(), preparing_.end(),
                     [&](const auto& prepared) { return prepared.first.first == &lane; });
}

}  // namespace polypath::engine
