#include "engine/learn/learner.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace polypath::engine {
namespace {

// Times that are waited for at once: a program that queues thousands of copies is not to have
// events for all of them.
constexpr std::size_t kMostMeasurements = 8;

constexpr Seconds kKeepPeriod = 500'000_us;  // a file is written then

}  // namespace

Learner::Learner(Driver& driver, const Settings& settings, Plans& plans,
                 std::shared_ptr<ExperienceKeeper> keeper, Background* background)
    : driver_(driver),
      learns_(settings.learn),
      plans_(plans),
      keeper_(std::move(keeper)),
      background_(background),
      experience_(static_cast<std::size_t>(settings.plan_cache)),
      exchanges_(static_cast<std::size_t>(settings.plan_cache)),
      timing_events_(driver) {}

void Learner::recall() {
  if (keeper_ && learns_)
    for (const auto& [kind, learnt] : keeper_->read()) experience_.recall(kind, learnt);
}

void Learner::keep() {
  if (keeper_ && experience_.changes() != kept_changes_) keeper_->keep(experience_.learnt());
}

// A program may end without a word; never in a call of its own.
void Learner::keep_in_background() {
  if (!keeper_ || background_ == nullptr || experience_.changes() == kept_changes_) return;
  kept_changes_ = experience_.changes();
  kept_at_ = driver_.now();
  background_->post([keeper = keeper_, learnt = experience_.learnt()] { keeper->keep(learnt); });
}

void Learner::read(Seconds now) {
  std::erase_if(measurements_, [&](const std::shared_ptr<Measurement>& each) {
    if (now < each->look_at) return false;
    const std::optional<Timing> timing = each->watch.read();
    if (timing) learn_from(*each, *timing);
    each->look_at = now + each->plan->predicted;
    return timing || each->watch.failed();
  });
  if (now - kept_at_ > kKeepPeriod) keep_in_background();
}

void Learner::learn_from(const Measurement& measurement, const Timing& timing) {
  if (measurement.of_exchange)
    return exchanges_.note(measurement.kind,
                           measurement.advice.natively ? ComparedWay::native : ComparedWay::ours,
                           timing.whole);
  if (measurement.advice.natively) return experience_.note_native(measurement.kind, timing.whole);
  experience_.note_paths(measurement.kind, measurement.advice.version, timing,
                         [&](std::span<const Seconds> paths, double damping) {
                           return plans_.level(*measurement.plan, paths, damping);
                         });
}

bool Learner::may_time() const { return measurements_.size() < kMostMeasurements; }

Advice Learner::suggest(const TransferKind& kind, const Plan& plan) {
  if (!may_time()) return experience_.suggest(kind, plan, MayTime::nothing);
  const bool tries = std::ranges::any_of(measurements_, [&](const auto& each) {
    return !each->of_exchange && each->advice.trial && each->kind == kind;
  });
  return experience_.suggest(kind, plan, tries ? MayTime::what_is_known : MayTime::anything);
}

std::shared_ptr<Measurement> Learner::measure(const TransferKind& kind, const Advice& advice,
                                              const PlanPointer& plan, StreamHandle stream,
                                              Seconds now) {
  return std::make_shared<Measurement>(kind, advice, plan, stream, now + plan->predicted,
                                       timing_events_);
}

void Learner::add(std::shared_ptr<Measurement> measurement) {
  measurements_.push_back(std::move(measurement));
}

void Learner::disturb(StreamHandle stream) {
  std::erase_if(measurements_, [&](const std::shared_ptr<Measurement>& each) {
    return !each->of_exchange && each->stream != stream;
  });
}

}  // namespace polypath::engine
