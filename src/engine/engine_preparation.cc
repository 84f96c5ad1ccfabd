// Makes the streams, rings and peer access that the hops of a plan need, and gives them back.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "core/ignore_errors.h"
#include "core/log.h"
#include "engine/engine.h"

namespace polypath {
namespace {

// Copies must have taken so many times the price: as the price is about twice what a preparation
// costs, no more than a twentieth of their time is lost by it.
constexpr double kLeastCopying = 10;

// Contexts on GPUs of other processes: four ranks that each made three were slower by 20 to 30 ms
// of their first 0.28 s, and by 75 ms of 1.4 s, which is 25 ms for each context; the price is twice
// that (results/h200x4/jacobi_mpi.json).
constexpr double kDearerBesideOthers = 10;

}  // namespace

// None: all that the plan needs is there; so many copies would have been made by it.
FallbackReason Engine::provide(Lane& lane, const PlanPointer& plan, int copies) {
  const auto& paths = plan->shape.paths;
  if (is_ready(lane, *plan)) return FallbackReason::none;
  if (background_) return provide_later(lane, plan, copies);
  for (const PathShape& part : paths) {
    HopParts parts = lane.hops().missing(part.path);
    if (parts.empty()) continue;
    if (!make(lane, part.path, parts)) {
      left_out_.add(staging_place(machine_, part.path), LeftOutBecause::preparation_failed);
      return FallbackReason::failed;
    }
    lane.hops().install(std::move(parts));
  }
  return FallbackReason::none;
}

bool Engine::is_ready(const Lane& lane, const Plan& plan) {
  return std::ranges::all_of(plan.shape.paths, [&](const PathShape& part) {
    return lane.hops().missing(part.path).empty();
  });
}

FallbackReason Engine::provide_later(Lane& lane, const PlanPointer& plan, int copies) {
  const std::pair wanted{&lane, plan};
  if (preparing_.contains(wanted)) return FallbackReason::preparing;
  const int put_off = only_put_off(lane, *plan);
  if (!is_worth_preparing(*plan, copies, put_off)) return FallbackReason::preparing;
  preparing_[wanted] = {.shortages = shortages_, .all = put_off > 0};
  maker_->post([=, this, lane = &lane] { prepare(lane, plan); });
  return FallbackReason::preparing;
}

// A program that issues many copies at once issues the next ones when these are done. So streams
// and memory are made as soon as there is a plan: else the next copies would only ask for them.
void Engine::prepare_once_planned(const CopyCall& call, const PlanRequest& request) {
  if (!background_ || call.options.asks_for_paths()) return;
  const Unplanned copies{call.stream, request.source, request.destination, request.bytes};
  int& count = unplanned_[copies];
  const bool is_first = count == 0;
  count += 1 + call.unasked;
  if (!is_first) return;
  background_->post([=, this] { prepare_planned(copies, request); });
}

// In the background, behind the planning.
void Engine::prepare_planned(const Unplanned& copies, const PlanRequest& request) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = unplanned_.extract(copies);
  ignore_errors([&] {
    const PlanPointer plan = plan_for(request);
    if (found.empty() || !plan || plan->executor() == Executor::native) return;
    Lane* lane = lanes_.any_held_beside(copies.stream) ? nullptr : lanes_.lend(copies.stream);
    if (lane == nullptr) return;
    if (!is_ready(*lane, *plan)) (void)provide_later(*lane, plan, found.mapped());
  });
}

// The same over these relays only. To make a graph would not pay for the short while.
PlanRequest Engine::limited_to(const PlaceSet& relays, PlanRequest request) const {
  for (std::size_t index = 0; index < machine_.places.size(); ++index)
    if (const PlaceId place{static_cast<int>(index)}; !relays.contains(place))
      request.options.left_out.add(place, LeftOutBecause::being_prepared);
  if (!request.options.executor) request.options.executor = Executor::stream;
  return request;
}

PlaceSet Engine::ready_relays(const Plan& plan, const Lane& lane) const {
  PlaceSet ready;
  for (const PathShape& part : plan.shape.paths)
    if (part.path.staged() && lane.hops().missing(part.path).empty())
      ready.insert(staging_place(machine_, part.path));
  return ready;
}

// Background preparation holds up calls of the program: peer access for 1.2 ms, pinned memory for 1
// ms, staging memory and streams for 0.7 ms (results/h200x2/driver_behaviour.json); other delays
// were not measured. The setting's default is about twice that. A program that pays as soon as it
// has missed that much never loses more than twice what the best choice, made with knowledge of the
// future, would have lost. A program that has copied for ten times as long loses no more than a
// twentieth of its time.
bool Engine::is_worth_preparing(const Plan& plan, int copies, int put_off) {
  missed_ += (plan.native_predicted - plan.predicted) * copies;
  copied_ += plan.native_predicted * copies;
  const Seconds price =
      put_off > 0 ? 1_us * settings_.prepare_after * kDearerBesideOthers * put_off : price_of(plan);
  if (missed_ < price || copied_ < price * kLeastCopying) return false;
  missed_ = copied_ = {};
  return true;
}

Seconds Engine::price_of(const Plan& plan) const {
  const Seconds usual = 1_us * settings_.prepare_after;
  if (driver_.now() - Seconds{last_allocation_.load()} > kStillAllocates) return usual;
  const auto opened = [this](const PathShape& part) {
    const auto open = [this](HopId hop) { return driver_.is_open(machine_.executing_gpu(hop)); };
    return open(part.path.first) && (!part.path.staged() || open(part.path.second));
  };
  const bool all = std::all_of(plan.shape.paths.begin(), plan.shape.paths.end(), opened);
  return all ? usual : usual * machine_.driver.context_beside_allocations;
}

std::set<PlaceId> Engine::contexts_to_make(const Path& path) {
  std::set<PlaceId> gpus{machine_.executing_gpu(path.first)};
  if (path.staged()) gpus.insert(machine_.executing_gpu(path.second));
  std::erase_if(gpus, [this](PlaceId gpu) { return driver_.is_open(gpu); });
  return gpus;
}

// The number of contexts that the plan lacks, if each path that is not ready waits for a context
// that was put off; else 0.
int Engine::only_put_off(const Lane& lane, const Plan& plan) {
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
PlaceSet Engine::used_by_others(const Path& path) noexcept {
  PlaceSet found;
  (void)ignore_errors([&] {
    for (const PlaceId gpu : contexts_to_make(path))
      if (driver_.is_used_by_others(gpu)) found.insert(gpu);
  });
  return found;
}

void Engine::note_allocation() noexcept { last_allocation_.store(driver_.now().value); }

// In the background: the lock is held for moments only. When the program has run short of memory
// meanwhile, or ends, nothing more is made; preparations that had not begun are dropped, and then
// the lane may be gone. Copies over the relays that are ready are planned before the next one asks
// for that.
void Engine::prepare(Lane* lane, const PlanPointer& plan) {
  std::unique_lock lock(mutex_);
  const auto found = preparing_.find({lane, plan});
  if (found == preparing_.end()) return;
  found->second.begun = true;
  for (const PathShape& part : plan->shape.paths) {
    if (shortages_ != found->second.shortages || !maker_->pause({})) break;
    HopParts parts = lane->hops().missing(part.path);
    if (parts.empty()) continue;
    const bool all = found->second.all;
    lock.unlock();
    const PlaceSet others = all ? PlaceSet{} : used_by_others(part.path);
    const bool made = others.empty() && make(*lane, part.path, parts);
    lock.lock();
    if (!others.empty()) {
      put_off_ |= others;
      continue;
    }
    if (!made) {
      left_out_.add(staging_place(machine_, part.path), LeftOutBecause::preparation_failed);
      continue;
    }
    lane->hops().install(std::move(parts));
    if (is_ready(*lane, *plan)) continue;
    const PlanRequest request{plan->source, plan->destination, plan->bytes, complete({})};
    (void)plan_for(limited_to(ready_relays(*plan, *lane), request));
  }
  preparing_.erase(found);
}

void Engine::drop_preparations_not_begun() noexcept {
  const std::scoped_lock lock(mutex_);
  std::erase_if(preparing_, [](const auto& entry) { return !entry.second.begun; });
}

// Said once per place, because no plan uses it afterwards.
bool Engine::make(const Lane& lane, const Path& path, HopParts& parts) noexcept {
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
bool Engine::give_back_idle() noexcept {
  std::unique_lock lock(mutex_);
  Lanes::Taken taken =
      lanes_.take_idle([this](const Lane& lane) { return is_being_prepared(lane); });
  lock.unlock();
  return !taken.empty();
}

bool Engine::give_back(Seconds timeout) noexcept {
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

bool Engine::release_memory(Seconds timeout) noexcept {
  ++shortages_;
  drop_preparations_not_begun();
  return give_back(timeout);
}

// A plan may be made, and its memory allocated, after the last copy.
bool Engine::has_staging() const {
  const std::scoped_lock lock(mutex_);
  return !lanes_.empty() || !unplanned_.empty();
}

bool Engine::any_gone_soon() {
  const std::scoped_lock lock(mutex_);
  return !preparing_.empty() || lanes_.any_ends_soon();
}

bool Engine::is_being_prepared(const Lane& lane) const {
  return std::any_of(preparing_.begin(), preparing_.end(),
                     [&](const auto& prepared) { return prepared.first.first == &lane; });
}

}  // namespace polypath
