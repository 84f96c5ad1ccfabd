#include "engine/engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <mutex>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "core/process.h"
#include "engine/engine_parts.h"

namespace polypath::engine {

Engine::Engine(Driver& driver, const Machine& machine, const Settings& settings,
               std::shared_ptr<LoadTracker> load, std::shared_ptr<ExperienceKeeper> keeper,
               std::shared_ptr<PlanKeeper> plan_keeper)
    : process_(getpid()),
      generation_(process_generation()),
      parts_(std::make_unique<EngineParts>(driver, machine, settings, std::move(load),
                                           std::move(keeper), std::move(plan_keeper))) {
  set_log_level(settings.log_level);
  parts_->learner.recall();
}

// Stops the background work before the parts that it uses are destroyed.
Engine::~Engine() {
  stop_preparing();
  if (process_generation() != generation_) return;
  parts_->learner.keep();
  parts_->plans.keep();
}

void Engine::stop_preparing() noexcept {
  for (const auto& thread : {&parts_->planning, &parts_->making})
    if (*thread) (*thread)->stop();
}

// A forked child has its parent's memory but not its driver: handles mean nothing there.
void Engine::check_process() const {
  if (process_generation() == generation_) return;
  fail(ErrorCode::unsupported, fmt::format("this context belongs to process {}", process_),
       "a forked child cannot use its parent's streams and memory", "Open one in the child.");
}

// One lock for deciding and enqueuing: no other thread decides in between without knowing of this
// copy. With pageable or managed memory at an end the driver may block, so that no lock is held.
CopyResult Engine::copy(const CopyCall& call) {
  check_process();
  std::unique_lock lock(parts_->mutex);
  const Decision decision = parts_->decider.decide(call);
  if (!decision.may_block) return parts_->enqueuer.enqueue(decision, NativeCopyBy::engine);
  lock.unlock();
  return parts_->pageable_enqueuer.enqueue(decision, NativeCopyBy::engine);
}

std::vector<CopyResult> Engine::copy_many(std::span<const CopyCall> calls, std::size_t* enqueued) {
  if (enqueued != nullptr) *enqueued = 0;
  check_process();
  return parts_->set_enqueuer.copy(calls, enqueued);
}

bool Engine::take_batch(std::span<const CopyCall> calls) {
  check_process();
  return parts_->set_enqueuer.take_batch(calls);
}

bool Engine::may_take_batch(const CopyCall& like, const CopyEnds& ends, std::size_t copies,
                            Bytes bytes) {
  const std::scoped_lock lock(parts_->mutex);
  return parts_->piece_decider.may_take_batch(like, ends, copies, bytes);
}

Decision Engine::decide(const CopyCall& call) {
  check_process();
  const std::scoped_lock lock(parts_->mutex);
  return parts_->decider.decide(call);
}

Decision Engine::decide(const CopyCall& call, const CopyEnds& ends) {
  check_process();
  const std::scoped_lock lock(parts_->mutex);
  return parts_->decider.decide(call, &ends);
}

std::optional<Decision> Engine::recall(const CopyCall& call) {
  check_process();
  const std::scoped_lock lock(parts_->mutex);
  return parts_->decider.recall(call);
}

CopyResult Engine::count_native(const CopyCall& call, const CopyEnds& ends) {
  check_process();
  const std::scoped_lock lock(parts_->mutex);
  const PlanFinder& finder = parts_->finder;
  if (finder.reads_peer(call, ends)) return {.obstacle = FallbackReason::reads_peer};
  return parts_->preparer.count_native(call, finder.request_for(call, ends));
}

CopyResult Engine::enqueue(const Decision& decision) {
  check_process();
  if (decision.may_block) return parts_->pageable_enqueuer.enqueue(decision, NativeCopyBy::engine);
  const std::scoped_lock lock(parts_->mutex);
  return parts_->enqueuer.enqueue(decision, NativeCopyBy::engine);
}

CopyResult Engine::enqueue_or_leave(const Decision& decision) {
  check_process();
  if (decision.may_block) return parts_->pageable_enqueuer.enqueue(decision, NativeCopyBy::caller);
  const std::scoped_lock lock(parts_->mutex);
  return parts_->enqueuer.enqueue(decision, NativeCopyBy::caller);
}

void Engine::synchronize(StreamHandle stream) {
  const TransferNumber newest = load().newest();
  parts_->driver.synchronize(stream);
  load().note_idle([stream](StreamHandle each, std::thread::id) { return each == stream; }, newest,
                   parts_->driver.now());
}

LoadTracker& Engine::load() noexcept { return *parts_->load; }

void Engine::leave_out(PlaceId relay, LeftOutBecause why) {
  const std::scoped_lock lock(parts_->mutex);
  parts_->finder.leave_out(relay, why);
}

void Engine::note_allocation() noexcept { parts_->budget.note_allocation(); }
bool Engine::give_back(Seconds timeout) noexcept { return parts_->preparer.give_back(timeout); }
bool Engine::release_memory(Seconds timeout) noexcept {
  return parts_->preparer.release_memory(timeout);
}
bool Engine::has_staging() const { return parts_->preparer.has_staging(); }

PlanPointer Engine::plan(PlaceId source, PlaceId destination, Bytes bytes,
                         const PlanOptions& options) {
  std::unique_lock lock(parts_->mutex);
  const PlanRequest request{source, destination, bytes, parts_->finder.complete(options)};
  lock.unlock();
  return parts_->plans.make(request);
}

PlanPointer Engine::known_plan(PlaceId source, PlaceId destination, Bytes bytes,
                               const PlanOptions& options) {
  const std::scoped_lock lock(parts_->mutex);
  return parts_->finder.find(
      PlanRequest{source, destination, bytes, parts_->finder.complete(options)});
}

Bytes Engine::smallest_planned() { return parts_->plans.least_smallest(); }
bool Engine::windows_pay() const { return parts_->pageable.pays(); }

Statistics Engine::statistics() const {
  const std::scoped_lock lock(parts_->mutex);
  return parts_->statistics;
}

}  // namespace polypath::engine
