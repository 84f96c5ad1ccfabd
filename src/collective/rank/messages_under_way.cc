#include "collective/rank/messages_under_way.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/ignore_errors.h"

namespace polypath::collective {
namespace {

// A program that ends before its communicator is closed has mostly done its part.
constexpr std::chrono::seconds kGrace{1};

}  // namespace

MessagesUnderWay::~MessagesUnderWay() {
  for (const Launch& launch : launches_) ignore_errors([&] { driver_.destroy_event(launch.end); });
  for (const EventHandle event : spare_) ignore_errors([&] { driver_.destroy_event(event); });
}

EventHandle MessagesUnderWay::take_event() {
  if (spare_.empty()) return driver_.create_event(gpu_);
  const EventHandle event = spare_.back();
  spare_.pop_back();
  return event;
}

std::uint64_t MessagesUnderWay::add(std::vector<MessageTask> tasks, StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  forget_done();
  launches_.push_back({.number = ++number_,
                       .group = group_,
                       .end = take_event(),
                       .stream = stream,
                       .tasks = std::move(tasks)});
  driver_.record(launches_.back().end, stream);
  return number_;
}

void MessagesUnderWay::come_after(StreamHandle stream, bool this_group) {
  const std::scoped_lock lock(mutex_);
  for (const Launch& launch : launches_)
    if (launch.group + (this_group ? 0 : 1) == group_ && launch.stream != stream)
      driver_.wait(stream, launch.end);
}

void MessagesUnderWay::forget_done() {
  while (!launches_.empty() && driver_.is_done(launches_.front().end)) {
    spare_.push_back(launches_.front().end);
    launches_.pop_front();
  }
}

bool MessagesUnderWay::is_over(std::uint64_t launch) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(launches_, launch, &Launch::number);
  return found == launches_.end() || driver_.is_done(found->end);
}

bool MessagesUnderWay::is_idle() {
  const std::scoped_lock lock(mutex_);
  forget_done();
  return launches_.empty();
}

void MessagesUnderWay::close() {
  const std::scoped_lock looking(looking_);
  is_closed_ = true;
}

// An abort of another rank is passed on: what waits on this GPU is released.
bool MessagesUnderWay::look() noexcept {
  const std::scoped_lock looking(looking_);
  if (is_closed_) return false;
  bool goes_on = false;
  (void)ignore_errors([&] { goes_on = look_at_all(); });
  return goes_on;
}

bool MessagesUnderWay::look_at_all() {
  std::string why;
  try {
    if (is_idle()) return false;
    why = problem();
  } catch (const Error& error) {
    why = fmt::format("Rank {} has failed in a message ({})", communicator_.rank(), error.what());
  }
  if (!why.empty()) communicator_.abort(why);
  communicator_.check();
  return true;
}

std::string MessagesUnderWay::problem() {
  const std::scoped_lock lock(mutex_);
  for (Launch& launch : launches_)
    for (const MessageTask& task : launch.tasks)
      if (std::string why = problem_with(launch, task); !why.empty()) return why;
  return {};
}

// Whether it has gone is asked first: the messages that it had come to by then are final.
std::string MessagesUnderWay::problem_with(Launch& launch, const MessageTask& task) const {
  if (task.signal.value == 0) return {};  // it stays in this rank
  const bool left = segment_.has_left(task.peer);
  const bool ended = !left && !segment_.lives(task.peer);
  if (!left && !ended) return {};
  if (!has_come_(task))
    return fmt::format("Rank {} has {} before {} ({}) Find out what became of that rank.",
                       task.peer, left ? "left the communicator" : "ended", described(task),
                       left ? "its communicator is closed" : "its process is gone");
  if (!ended) return {};
  if (!launch.bereft) launch.bereft = Clock::now();
  if (Clock::now() - *launch.bereft < kGrace) return {};
  return fmt::format(
      "Rank {} has ended in {} (its process is gone) Find out what became of that rank.", task.peer,
      described(task));
}

std::string MessagesUnderWay::described(const MessageTask& task) const {
  const bool sent = task.direction == Direction::sent;
  return fmt::format("message {} from rank {} to rank {}, {} bytes", task.number,
                     sent ? communicator_.rank() : task.peer,
                     sent ? task.peer : communicator_.rank(), task.bytes.value);
}

}  // namespace polypath::collective
