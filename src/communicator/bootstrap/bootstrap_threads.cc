#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "communicator/bootstrap/bootstrap.h"
#include "communicator/bootstrap/deadline.h"
#include "communicator/bootstrap/ranks.h"
#include "core/error.h"
#include "core/ignore_errors.h"

namespace polypath::communicator {
namespace {

constexpr std::chrono::milliseconds kBetweenChecks{20};

/// The barrier of the threads' rounds.
class ThreadBarrier {
 public:
  explicit ThreadBarrier(int size) : size_(static_cast<std::size_t>(size)) {}

  /// The waiting thread calls `check` without the lock, and note_gone(rank, why) with it.
  template <class Check, class NoteGone>
  std::vector<Blob> exchange(std::uint64_t number, int rank, const Blob& mine, Seconds timeout,
                             Check check, NoteGone note_gone) {
    const Deadline deadline(timeout);
    std::unique_lock lock(mutex_);
    Round& round = rounds_[number];
    round.blobs[rank] = mine;
    arrived_.notify_all();
    const auto complete = [&] { return round.blobs.size() == size_; };
    while (!arrived_.wait_for(lock, kBetweenChecks, complete)) {
      for (const auto& [gone, why] : gone_)
        if (!round.blobs.contains(gone)) note_gone(gone, why);
      if (deadline.has_passed()) fail_without(round);
      lock.unlock();
      check();
      lock.lock();
    }
    std::vector<Blob> blobs;
    for (const auto& [from, blob] : round.blobs) blobs.push_back(blob);
    if (++round.readers == size_) rounds_.erase(number);
    return blobs;
  }

  /// That rank gives nothing any more.
  void leave(int rank, const std::string& why) {
    const std::scoped_lock lock(mutex_);
    gone_.emplace(rank, why);
    arrived_.notify_all();
  }

  /// The barrier of a group: made by the first thread that asks.
  std::shared_ptr<ThreadBarrier> of(const Subgroup& group) {
    const std::scoped_lock lock(mutex_);
    const auto key = std::pair(group.number, group.color);
    std::shared_ptr<ThreadBarrier> meeting = groups_[key].lock();
    if (!meeting) groups_[key] = meeting = std::make_shared<ThreadBarrier>(group.size());
    return meeting;
  }

 private:
  struct Round {
    std::map<int, Blob> blobs;  ///< by rank
    std::size_t readers = 0;
  };

  [[noreturn]] void fail_without(const Round& round) const {
    std::vector<int> missing;
    for (int rank = 0; rank < static_cast<int>(size_); ++rank)
      if (!round.blobs.contains(rank)) missing.push_back(rank);
    fail(ErrorCode::communicator, "Not all ranks came together",
         describe_ranks(missing) + " did not come in time",
         "Find out what became of them, or wait longer.");
  }

  std::size_t size_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::uint64_t, Round> rounds_;
  std::map<int, std::string> gone_;  ///< and why, if it has given up
  std::map<std::pair<std::uint64_t, int>, std::weak_ptr<ThreadBarrier>> groups_;
};

class ThreadBootstrap final : public Bootstrap {
 public:
  ThreadBootstrap(std::shared_ptr<ThreadBarrier> meeting, int rank, int size)
      : Bootstrap(rank, size), meeting_(std::move(meeting)) {}
  ~ThreadBootstrap() override {
    ignore_errors([&] { meeting_->leave(rank(), {}); });
  }

 private:
  void tell_given_up(const std::string& why) override { meeting_->leave(rank(), why); }

  std::vector<Blob> exchange(const Blob& mine, Seconds timeout) override {
    return meeting_->exchange(
        round_++, rank(), mine, timeout, [this] { check_waiting(); },
        [this](int gone, const std::string& why) { note_gone(gone, why); });
  }

  // The next round keeps the part of every rank: the first rank would otherwise be gone before the
  // last comes.
  std::unique_ptr<Bootstrap> subgroup(const Subgroup& group, Seconds timeout) override {
    std::unique_ptr<Bootstrap> mine;
    if (group.color >= 0)
      mine = std::make_unique<ThreadBootstrap>(meeting_->of(group), group.rank, group.size());
    all_gather({}, timeout);
    return mine;
  }

  std::shared_ptr<ThreadBarrier> meeting_;
  std::uint64_t round_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Bootstrap>> bootstrap_among_threads(int size) {
  const auto meeting = std::make_shared<ThreadBarrier>(size);
  std::vector<std::unique_ptr<Bootstrap>> all;
  for (int rank = 0; rank < size; ++rank)
    all.push_back(std::make_unique<ThreadBootstrap>(meeting, rank, size));
  return all;
}

}  // namespace polypath::communicator
