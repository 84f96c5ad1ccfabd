#include "api/python/closing.h"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include "api/python/collective_rank.h"
#include "api/python/ctrl_c.h"
#include "core/error.h"
#include "core/ignore_errors.h"

namespace polypath::python {
namespace {

std::atomic<bool> fails_at_exit = false;

constexpr std::chrono::microseconds kBetweenLooks{200};

// Python's own functions for the end of a program cannot change its status.
void set_status(int status, void*) {
  if (!fails_at_exit || status != 0) return;
  (void)std::fflush(nullptr);
  _exit(1);
}

}  // namespace

void fail_at_exit() { fails_at_exit = true; }
void prepare_exit_status() { (void)on_exit(set_status, nullptr); }

std::optional<Error> Ending::close() {
  std::optional<Error> problem;
  std::exception_ptr interruption;
  try {
    ranks->close();
  } catch (const Error& error) {
    problem = error;
  } catch (...) {
    problem = Error(ErrorCode::communicator, "The end of the ranks was interrupted");
    interruption = std::current_exception();
  }
  health->end(problem);
  ranks.reset();
  if (interruption) std::rethrow_exception(interruption);
  return problem;
}

Closing& Closing::of_process() {
  static Closing* const closing = new Closing;  // the interpreter may outlive static objects
  return *closing;
}

void Closing::begin(Ending ending) {
  Work work{ending.health, std::make_shared<std::atomic<bool>>(false), {}};
  work.thread = std::thread([this, is_over = work.is_over,
                             own = std::make_shared<Ending>(std::move(ending))] {
    (void)ignore_errors([&] { end(std::move(*own)); });  // an interrupt here has no caller to tell
    *is_over = true;
  });
  const std::scoped_lock lock(mutex_);
  work_.push_back(std::move(work));
}

void Closing::end(Ending ending) {
  const auto problem = ending.close();
  if (!problem || ending.health->is_known()) return;
  const std::scoped_lock lock(mutex_);
  problems_.emplace_back(problem->what());
}

std::vector<Closing::Work> Closing::take_work() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(work_, {});
}

std::vector<Ending> Closing::endings_of(const std::vector<CollectiveRank*>& ranks) {
  std::vector<Ending> endings;
  for (CollectiveRank* rank : ranks)
    if (rank->ranks_ && !rank->is_elsewhere())
      endings.push_back({rank->context_, std::move(rank->ranks_), rank->health_});
  return endings;
}

void Closing::await(const std::vector<Work>& all) {
  for (const Work& each : all)
    while (!*each.is_over) {
      check_interruption();
      std::this_thread::sleep_for(kBetweenLooks);
    }
}

// One rank ends in this thread: it may meet the others by functions that are for this one.
void Closing::end_all(std::vector<Ending> endings) {
  if (endings.size() == 1) return end(std::move(endings.front()));
  for (Ending& each : endings) begin(std::move(each));
}

std::vector<std::string> Closing::finish(const std::vector<CollectiveRank*>& ranks) {
  const nanobind::gil_scoped_release unlocked;
  const EndsByCtrlC ends_by_ctrl_c;
  std::exception_ptr interruption;
  std::vector<Work> all;
  try {
    end_all(endings_of(ranks));
    all = take_work();
    await(all);
  } catch (...) {
    interruption = std::current_exception();
    for (Work& each : take_work()) all.push_back(std::move(each));
    for (const Work& each : all) each.health->abort("The end of the program was interrupted");
  }
  for (Work& each : all) each.thread.join();
  if (interruption) std::rethrow_exception(interruption);
  const std::scoped_lock lock(mutex_);
  return std::exchange(problems_, {});
}

}  // namespace polypath::python
