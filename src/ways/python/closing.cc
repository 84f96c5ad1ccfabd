#include "ways/python/closing.h"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "ways/python/collective_rank.h"
#include "ways/python/ctrl_c.h"

namespace polypath::python {
namespace {

std::atomic<bool> fails_at_exit = false;

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
  const std::scoped_lock lock(mutex_);
  threads_.emplace_back(
      [this, own = std::make_shared<Ending>(std::move(ending))] { note(own->close()); });
}

void Closing::note(const std::optional<Error>& problem) {
  if (!problem) return;
  const std::scoped_lock lock(mutex_);
  problems_.emplace_back(problem->what());
}

void Closing::note_untold(Ending& ending, const std::optional<Error>& problem) {
  if (!ending.health->is_known()) note(problem);
}

std::vector<std::string> Closing::finish(const std::vector<CollectiveRank*>& ranks) {
  const nanobind::gil_scoped_release unlocked;
  std::vector<Ending> endings;
  for (CollectiveRank* rank : ranks)
    if (rank->ranks_ && !rank->is_elsewhere())
      endings.push_back({rank->context_, std::move(rank->ranks_), rank->health_});
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < endings.size(); ++i)
    threads.emplace_back([this, &own = endings[i]] { note_untold(own, own.close()); });
  if (!endings.empty()) note_untold(endings.front(), endings.front().close());
  {
    const std::scoped_lock lock(mutex_);
    for (std::thread& thread : threads_) threads.push_back(std::move(thread));
    threads_.clear();
  }
  for (std::thread& thread : threads) thread.join();
  const std::scoped_lock lock(mutex_);
  return std::exchange(problems_, {});
}

}  // namespace polypath::python
