#include "collective/internode/exchange_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/ignore_errors.h"

namespace polypath::collective {
namespace {

using Clock = std::chrono::steady_clock;

// Polling without a break takes a CPU from the program; a sleeping proxy is late.
constexpr std::chrono::microseconds kBusy{100};
constexpr std::chrono::microseconds kNap{20};

}  // namespace

void ExchangeRunner::run(ExchangeInbox& inbox) {
  Clock::time_point moved = Clock::now();
  while (await_work(inbox)) {
    inbox.take(waiting_);
    if (go_on()) moved = Clock::now();
    else if (Clock::now() - moved < kBusy) std::this_thread::yield();
    else std::this_thread::sleep_for(kNap);
  }
}

// False when all is done, or nothing more can be waited for.
bool ExchangeRunner::await_work(ExchangeInbox& inbox) {
  const bool is_busy = !waiting_.empty() || !under_way_.empty();
  const ExchangeInbox::News news = inbox.await(is_busy, failed_);
  if (news.aborted) note(*news.aborted);
  return news.has_work;
}

bool ExchangeRunner::go_on() {
  bool moved = false;
  for (; !waiting_.empty() && is_ready(waiting_.front()); moved = true) {
    start(waiting_.front());
    under_way_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  for (; !under_way_.empty() && is_over(under_way_.front()); moved = true) {
    end(under_way_.front());
    under_way_.pop_front();
  }
  return moved;
}

// An exchange that cannot be done is over.
template <class Step>
bool ExchangeRunner::attempt(Step step) noexcept {
  try {
    return step();
  } catch (const Error& error) {
    note(error);
    return true;
  }
}

bool ExchangeRunner::is_ready(const ExchangeTask& task) {
  return task.ready.value == 0 || attempt([&] { return driver_.is_done(task.ready); });
}

void ExchangeRunner::start(ExchangeTask& task) {
  if (task.ready.value != 0) events_.give_back(task.ready);
  task.deadline = Deadline(task.comparison ? group_.until_called : group_.until_sent);
  if (failed_ || task.is_last) return;
  const std::uint32_t tag = ++started_;
  (void)attempt([&] {
    for (const auto& [from, bytes] : task.exchange.in)
      task.messages.push_back(
          {group_.transport->receive(from, tag, bytes), from, false, {bytes.size()}});
    for (const auto& [to, bytes] : task.exchange.out)
      task.messages.push_back({group_.transport->send(to, tag, bytes), to, true, {bytes.size()}});
    return true;
  });
}

bool ExchangeRunner::is_over(ExchangeTask& task) {
  if (failed_) return true;
  return attempt([&] {
    std::erase_if(task.messages,
                  [&](const ExchangeMessage& each) { return group_.transport->test(each.number); });
    if (!task.messages.empty() && task.deadline.has_passed())
      fail_late(task, task.messages.front());
    if (task.messages.empty()) compare(task);
    return task.messages.empty();
  });
}

void ExchangeRunner::end(ExchangeTask& task) {
  if (task.is_last) ++calls_over_;
  if (task.slot < 0) return;
  (void)attempt([&] {
    words_.write(task.slot, task.number);
    return true;
  });
}

void ExchangeRunner::compare(const ExchangeTask& task) const {
  if (!task.comparison) return;
  for (std::size_t i = 0; i < task.comparison->others.size(); ++i) {
    const CallRecord own = call_of(task.comparison->own);
    const CallRecord other = call_of(task.comparison->others[i]);
    if (own == other) continue;
    const int rank = group_.transport->rank(), differs = task.exchange.in[i].from;
    fail(ErrorCode::invalid_argument,
         rank < differs ? describe_difference(rank, own, differs, other)
                        : describe_difference(differs, other, rank, own),
         "ranks of two nodes act together", "Let all ranks make the same calls in the same order.");
  }
}

void ExchangeRunner::fail_late(const ExchangeTask& task, const ExchangeMessage& message) const {
  fail(ErrorCode::communicator,
       fmt::format("rank {} timed out waiting for {} to {} {} bytes of {}",
                   group_.transport->rank(), group_.transport->describe(message.other),
                   message.is_sent ? "receive" : "send", message.bytes.value, task.call),
       fmt::format("it did not within {:.3g} s", group_.until_called.value),
       "Find out what that rank does, or set POLYPATH_COMMUNICATOR_TIMEOUT to more seconds.");
}

// Another rank's own message about its end says more than the absence of its messages.
void ExchangeRunner::note(const Error& problem) noexcept {
  if (std::exchange(failed_, true)) return;
  const Error told = group_.transport->failure().value_or(problem);
  ignore_errors([&] { group_.transport->abort(told.what(), told.code()); });
  ignore_errors([&] { group_.on_problem(told); });
}

}  // namespace polypath::collective
