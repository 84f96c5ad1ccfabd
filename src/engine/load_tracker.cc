#include "engine/load_tracker.h"

#include <algorithm>
#include <utility>

namespace polypath {
namespace {

constexpr double kComesBack = 2;       // within so many times its own time
constexpr Seconds kSlack = 1000_us;    // and this for what the program does in between
constexpr std::uint64_t kAsLarge = 2;  // up to this factor
constexpr double kRoom = 1.02;         // of a capacity, for what rounding adds
constexpr double kMostlyOver = 0.5;    // with less than this part left the next one counts

// Predictions are off by up to this part. What is about to end counts as over: else a ping that is
// not predicted to have ended yet when the pong starts would make both count as simultaneous.
constexpr double kAboutToEnd = 0.1;

bool as_large(std::uint64_t a, std::uint64_t b) { return a <= kAsLarge * b && b <= kAsLarge * a; }

bool still_runs(double end, double duration, double now) {
  return end - now > kAboutToEnd * duration;
}

}  // namespace

bool LoadTracker::Running::runs(Seconds now) const {
  return still_runs(end.value, plan->predicted.value, now.value);
}

bool LoadTracker::Running::mirrors(const Asked& asked) const {
  return plan->source == asked.destination && plan->destination == asked.source &&
         as_large(plan->bytes.value, asked.bytes.value);
}

bool LoadTracker::Running::goes_the_same_way(const Asked& asked) const {
  return plan->source == asked.source && plan->destination == asked.destination;
}

void LoadTracker::Running::meet_way_back() {
  back_until = end + plan->predicted * kComesBack + kSlack;
}

LoadTracker::LoadTracker(const Machine& machine, std::unique_ptr<NodeLedger> ledger)
    : machine_(machine), resources_(machine_), ledger_(std::move(ledger)) {}

void LoadTracker::add(StreamHandle stream, PlanPointer plan, Seconds now,
                      const Contention& contention) {
  const std::scoped_lock lock(mutex_);
  const Asked asked{stream, plan->source, plan->destination, plan->bytes};
  begin_episode(*plan, now);
  Running& running = running_[stream];
  running.queued = running.plan && running.end - now > running.plan->predicted * kMostlyOver;
  running.end = std::max(running.end, now) + plan->predicted;
  running.back_until = {};
  if (ledger_ && running.plan != plan) running.entry = entry_of(*plan);
  running.plan = std::move(plan);
  running.called = now;
  running.thread = std::this_thread::get_id();
  running.for_both_ways = contention.both_ways != BothWays::no;
  note_size(*running.plan);
  meet(stream, running, now);
  if (contention.meets_way_back) running.meet_way_back();
  for (auto& [other_stream, other] : running_)
    if (other_stream != stream && other.runs(now) && other.mirrors(asked))
      other.meet_way_back(), running.meet_way_back();
  publish(now);
}

std::set<LoadTracker::Way> LoadTracker::ways_in_flight(Seconds now) const {
  std::set<Way> ways;
  for (const auto& [stream, running] : running_)
    if (running.runs(now)) ways.insert(way_of(*running.plan));
  return ways;
}

// Notes who is in flight beside whom. One thread does not call twice at the same moment, unless its
// clock is a simulated one that several lanes have to themselves.
void LoadTracker::meet(StreamHandle stream, const Running& transfer, Seconds now) {
  const Way way = way_of(*transfer.plan);
  History& own = histories_[way];
  for (const auto& [other_stream, other] : running_) {
    const Way others = way_of(*other.plan);
    if (other_stream == stream || others == way || !other.runs(now)) continue;
    const bool beside = other.thread != transfer.thread || now <= other.called;
    History& theirs = histories_[others];
    note(other, Came::first, own.episodes, beside, own.met[others]);
    note(transfer, Came::second, theirs.episodes, beside, theirs.met[way]);
  }
}

// Who came first stays as it was when they met: rounds that follow closely are not told apart.
void LoadTracker::note(const Running& transfer, Came came, int episode, bool by_threads,
                       Meeting& meeting) {
  if (!meeting.plan || episode - meeting.episode > kRemembered)
    meeting.came_first = came == Came::first;
  meeting.plan = transfer.plan;
  meeting.episode = episode;
  if (transfer.queued) meeting.queued_episode = episode;
  meeting.by_threads = meeting.by_threads || by_threads;
}

// Whether the calling thread issues that one, as far as is known.
bool LoadTracker::same_thread(const Running& other, const Asked& asked, Seconds now) const {
  if (other.thread != std::this_thread::get_id() || now <= other.called) return false;
  const auto own = histories_.find({asked.source, asked.destination});
  if (own == histories_.end()) return true;
  const auto met = own->second.met.find(way_of(*other.plan));
  return met == own->second.met.end() || !met->second.by_threads;
}

// The next episode of this way, or the one that goes on.
int LoadTracker::episode_of(const Way& way, Seconds now) const {
  return histories_.at(way).episodes + (ways_in_flight(now).contains(way) ? 0 : 1);
}

// True of one that will soon be over, if it is known to come again: the next one counts instead.
bool LoadTracker::gives_place(const Running& running, const Asked& asked, Seconds now) const {
  if (running.end - now > running.plan->predicted * kMostlyOver) return false;
  const Way own{asked.source, asked.destination};
  const auto found = histories_.find(own);
  if (found == histories_.end()) return false;
  const auto met = found->second.met.find(way_of(*running.plan));
  return met != found->second.met.end() &&
         episode_of(own, now) - met->second.episode <= kRemembered;
}

// What met the last transfers of this way and is not there yet, or will be there again.
void LoadTracker::expect(const Asked& asked, Seconds now, bool queues, ByWay& companions,
                         Contention& contention) const {
  const Way own{asked.source, asked.destination}, back{asked.destination, asked.source};
  const auto found = histories_.find(own);
  if (found == histories_.end()) {
    contention.followers_unknown = !companions.empty() || contention.both_ways != BothWays::no;
    return;
  }
  const int episode = episode_of(own, now);
  for (const auto& [way, meeting] : found->second.met) {
    if (episode - meeting.episode > kRemembered) continue;
    const bool queued = queues || episode - meeting.queued_episode <= kRemembered;
    const auto there = companions.find(way);
    if (there != companions.end()) {
      there->second.queued |= queued;
    } else if (way == back && as_large(meeting.plan->bytes.value, asked.bytes.value)) {
      contention.both_ways =
          queues || meeting.by_threads ? BothWays::by_threads : BothWays::by_one_thread;
    } else {
      Companion companion = companion_of(*meeting.plan);
      companion.queued = queued;
      companion.same_thread = !meeting.by_threads;
      add(companion, companions);
    }
  }
}

Companion LoadTracker::companion_of(const Plan& plan) {
  return {plan.source, plan.destination, size_class(plan.bytes), nullptr};
}

// Of several that go the same way the largest counts.
void LoadTracker::add(const Companion& companion, ByWay& companions) {
  const Way way{companion.source, companion.destination};
  const auto [known, is_new] = companions.try_emplace(way, companion);
  if (!is_new && known->second.bytes < companion.bytes) known->second = companion;
}

LedgerEntry LoadTracker::entry_of(const Plan& plan) const {
  Load load;
  add_rates(resources_, plan.shape, load);
  LedgerEntry entry = ledger_->entry(plan.source, plan.destination, plan.bytes, load);
  entry.duration = plan.predicted.value;
  return entry;
}

void LoadTracker::publish(Seconds now) {
  if (!ledger_) return;
  const double offset = ledger_->time() - now.value;
  published_.clear();
  for (const auto& [stream, running] : running_) {
    if (std::max(running.end, running.back_until) <= now) continue;
    published_.push_back(running.entry);
    published_.back().end = running.end.value + offset;
    if (running.back_until > now) published_.back().back_until = running.back_until.value + offset;
  }
  ledger_->publish(published_);
}

// One in flight on another stream that goes another way.
void LoadTracker::look_at(const Running& running, const Asked& asked, Seconds now, bool queues,
                          ByWay& companions, Contention& contention) const {
  const bool in_flight = running.runs(now);
  const bool mirrors = running.mirrors(asked);
  const bool same = same_thread(running, asked, now);
  if (mirrors && (in_flight || running.back_until > now))
    contention.both_ways = queues || !same ? BothWays::by_threads : BothWays::by_one_thread;
  // The other way natively is taken to be as this one: to plan for both is then careful. One that
  // was planned for both has this one in its plan.
  const bool native = running.plan->executor() == Executor::native;
  if (mirrors && (native || running.for_both_ways)) return;
  if (!in_flight || gives_place(running, asked, now)) return;
  Companion companion = companion_of(*running.plan);
  if (!native) companion.plan = running.plan;
  companion.in_flight = true;
  companion.queued = queues || running.queued;
  companion.same_thread = same;
  add(companion, companions);
}

Contention LoadTracker::contention_of(const Asked& asked, Seconds now) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(running_, [&](const auto& entry) {
    return std::max(entry.second.end, entry.second.back_until) <= now;
  });
  Contention contention;
  if (ledger_) add_others(asked, contention);
  ByWay companions;
  // Who queues on one stream does so on the others.
  const auto before = running_.find(asked.stream);
  const bool queues = before != running_.end() && before->second.end > now;
  for (const auto& [stream, running] : running_)
    if (stream != asked.stream && !running.goes_the_same_way(asked))
      look_at(running, asked, now, queues, companions, contention);
  expect(asked, now, queues, companions, contention);
  std::vector<Way> ways;
  if (knows_all(asked, now, companions, contention, ways))
    contention.set = set_of(std::move(ways), now);
  // One more than are looked at says that there are too many.
  for (const auto& [way, companion] : companions)
    if (contention.load.size() <= kMostCompanions) contention.load.push_back(companion);
  return contention;
}

// What other processes have in flight.
void LoadTracker::add_others(const Asked& asked, Contention& contention) const {
  const double now = ledger_->time();
  const std::uint64_t from = ledger_->key_of(asked.source), to = ledger_->key_of(asked.destination);
  for (const LedgerEntry& entry : ledger_->others()) {
    const bool runs = still_runs(entry.end, entry.duration, now);
    if (entry.source == from && entry.destination == to) continue;
    if (entry.source == to && entry.destination == from &&
        as_large(entry.bytes, asked.bytes.value)) {
      if (runs || entry.back_until > now) contention.both_ways = BothWays::by_processes;
      if (runs) contention.meets_way_back = true;
    } else if (runs) {
      ledger_->add(entry, contention.foreign_load);
    }
  }
}

bool LoadTracker::lacks_room(const Plan& plan, const Load& foreign_load) const {
  if (foreign_load.empty()) return false;
  Load own;
  add_rates(resources_, plan.shape, own);
  for (std::size_t r = 0; r < own.size(); ++r)
    if (own[r].value > 0 && foreign_load[r].value > 0 &&
        own[r].value + foreign_load[r].value > kRoom * resources_.capacities()[r].value)
      return true;
  return false;
}

}  // namespace polypath
