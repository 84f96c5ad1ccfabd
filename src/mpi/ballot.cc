#include "mpi/ballot.h"

#include <algorithm>
#include <iterator>
#include <mutex>

namespace polypath::mpi {
namespace {

constexpr std::uint64_t kMostCallsBetweenPolls = 256;

}  // namespace

Ballot::~Ballot() { abandon(); }

bool Ballot::is_over(Vote& vote) const {
  if (vote.is_over) return true;
  int flag = 0;
  const Result result = library_.real.Test(&vote.request, &flag, library_.status_ignore);
  if (result != kSuccess) vote.least = 0;
  return vote.is_over = result != kSuccess || flag != 0;
}

// Those that are over go, so that a rank that never waits keeps few. Where MPI refuses the
// reduction the call is MPI's, which says why.
Ballot::Vote& Ballot::begin(bool mine) {
  while (!votes_.empty() && is_over(votes_.front())) votes_.pop_front();
  Vote& vote = votes_.emplace_back(Vote{.mine = mine ? 1 : 0});
  const Result result = library_.real.Iallreduce(&vote.mine, &vote.least, 1, library_.integer,
                                                 library_.minimum, comm_, &vote.request);
  if (result != kSuccess) vote.is_over = true, vote.least = 0;
  return vote;
}

bool Ballot::all_say(bool mine, const std::function<void()>& wait) {
  Vote& vote = begin(mine);
  while (!is_over(vote)) wait();
  return vote.least != 0;
}

void Ballot::begin_poll() {
  begin(has_passed_);
  polled_.splice(polled_.end(), votes_, std::prev(votes_.end()));
  has_passed_ = false;
  poll_ = next_ + std::min(next_, kMostCallsBetweenPolls);
}

void Ballot::poll(const std::function<void()>& wait) {
  if (polls_ == Polls::at_once) begin_poll();
  for (; !polled_.empty(); polled_.pop_front()) {
    while (!is_over(polled_.front())) wait();
    is_asking_ = polled_.front().least != 0;
  }
  if (polls_ == Polls::from_the_next_on) begin_poll();
}

void Ballot::note(Buffers mine) {
  ++next_;
  has_passed_ = has_passed_ || mine == Buffers::ours || mine == Buffers::device;
}

bool Ballot::pass_at_once(Buffers mine) {
  if (next_ == poll_) {
    if (std::any_of(polled_.begin(), polled_.end(), [&](Vote& each) { return !is_over(each); }))
      return false;
    poll([] {});
  }
  note(mine);
  if (is_asking_) (void)begin(false);
  return true;
}

bool Ballot::is_waiting() {
  const auto is_open = [this](Vote& vote) { return !is_over(vote); };
  return std::ranges::any_of(votes_, is_open) || std::ranges::any_of(polled_, is_open);
}

// Votes that are not over are kept until the process ends: nothing says when MPI no longer uses
// them.
void Ballot::abandon() {
  votes_.splice(votes_.end(), polled_);
  std::erase_if(votes_, [this](Vote& vote) { return is_over(vote); });
  static std::mutex mutex;
  static auto& kept = *new std::list<Vote>;
  const std::scoped_lock lock(mutex);
  kept.splice(kept.end(), votes_);
}

Ballot::Verdict Ballot::decide(Buffers mine, const std::function<void()>& wait) {
  if (next_ == poll_) poll(wait);
  note(mine);
  if (!is_asking_) return Verdict::quiet;
  if (is_asked(mine)) return all_say(true, wait) ? Verdict::ours : Verdict::mpis;
  (void)begin(false);
  return Verdict::mpis;
}

}  // namespace polypath::mpi
