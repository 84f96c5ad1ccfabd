#include "engine/engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "core/error.h"
#include "core/log.h"
#include "core/process.h"

namespace polypath {

Engine::Engine(Driver& driver, const Machine& machine, const Settings& settings,
               std::shared_ptr<LoadTracker> load, std::shared_ptr<ExperienceKeeper> keeper,
               std::shared_ptr<PlanKeeper> plan_keeper)
    : driver_(driver),
      machine_(machine),
      settings_(settings),
      executor_(parse_executor(settings.executor)),
      process_(getpid()),
      generation_(process_generation()),
      plans_(machine_, settings_, settings.keep_plans ? std::move(plan_keeper) : nullptr),
      kernels_(driver, machine_),
      side_streams_(driver),
      lanes_(driver, machine_, settings_, statistics_),
      load_(load ? std::move(load) : std::make_shared<LoadTracker>(machine_)),
      experience_(static_cast<std::size_t>(settings.plan_cache)),
      timing_events_(driver),
      keeper_(std::move(keeper)),
      recent_(settings.min_message.value_or(kAlwaysPlanned)),
      recent_sets_(
          std::min(settings.min_message.value_or(kNeverPlannedBelow), settings.pageable_min)),
      graph_amortizer_(machine.costs, settings.graph_after,
                       static_cast<std::size_t>(settings.plan_cache)),
      compared_(static_cast<std::size_t>(settings.plan_cache)),
      pageable_(driver, machine_.driver, settings_,
                [this](const PageableCopies::WindowCall& sent) { return send_window(sent); }),
      background_(settings.prepare == "background" ? std::make_unique<Background>() : nullptr),
      maker_(background_ ? std::make_unique<Background>() : nullptr) {
  set_log_level(settings.log_level);
  if (keeper_ && settings_.learn)
    for (const auto& [kind, learnt] : keeper_->read()) experience_.recall(kind, learnt);
}

// Stops the background work before the members that it uses are destroyed.
Engine::~Engine() {
  stop_preparing();
  if (process_generation() != generation_) return;
  if (keeper_ && experience_.changes() != kept_changes_) keeper_->keep(experience_.learnt());
  plans_.keep();
}

void Engine::stop_preparing() noexcept {
  for (const auto& thread : {&background_, &maker_})
    if (*thread) (*thread)->stop();
}

void Engine::leave_out(PlaceId relay, LeftOutBecause why) {
  const std::scoped_lock lock(mutex_);
  left_out_.add(relay, why);
}

// A forked child has its parent's memory but not its driver: handles mean nothing there.
void Engine::check_process() const {
  if (process_generation() == generation_) return;
  fail(ErrorCode::unsupported, fmt::format("this context belongs to process {}", process_),
       "a forked child cannot use its parent's streams and memory", "Open one in the child.");
}

// One lock for deciding and enqueuing: no other thread decides in between without knowing of this
// copy.
CopyResult Engine::copy(const CopyCall& call) {
  check_process();
  std::unique_lock lock(mutex_);
  const Decision decision = decide_locked(call, nullptr);
  if (!decision.may_block) return enqueue_locked(decision, NativeCopyBy::engine);
  lock.unlock();
  return enqueue_unpinned(decision, NativeCopyBy::engine);
}

std::optional<Executor> Engine::choice_of(const PlanOptions& options) const {
  return options.executor ? options.executor : executor_;
}

PlanOptions Engine::complete(const PlanOptions& options) const {
  PlanOptions completed = options;
  completed.executor = choice_of(options);
  completed.left_out = left_out_;
  return completed;
}

// Paths that the caller names explicitly are planned, or refused, in the call.
PlanPointer Engine::plan_for(const PlanRequest& request) {
  const bool asked_for = request.options.asks_for_paths();
  return background_ && !asked_for ? plans_.find(request, *background_) : plans_.make(request);
}

PlanPointer Engine::plan(PlaceId source, PlaceId destination, Bytes bytes,
                         const PlanOptions& options) {
  std::unique_lock lock(mutex_);
  const PlanRequest request{source, destination, bytes, complete(options)};
  lock.unlock();
  return plans_.make(request);
}

PlanPointer Engine::known_plan(PlaceId source, PlaceId destination, Bytes bytes,
                               const PlanOptions& options) {
  const std::scoped_lock lock(mutex_);
  return plan_for({source, destination, bytes, complete(options)});
}

LearntKinds Engine::learnt() const {
  const std::scoped_lock lock(mutex_);
  return experience_.learnt();
}

Statistics Engine::statistics() const {
  const std::scoped_lock lock(mutex_);
  return statistics_;
}

}  // namespace polypath
