#include "mpi/own_call.h"

#include <exception>
#include <utility>

#include "core/error.h"
#include "core/ignore_errors.h"

namespace polypath::mpi {

// Without an event a mark is made at the begin.
Mark::Mark(Member& member) : member_(member) {
  ignore_errors([&] { event_ = member_.mark_default_stream(); });
}

Mark::~Mark() {
  if (event_) member_.give_back(*event_);
}

OwnCall::OwnCall(Member& member, const Call& call, int gpu, const Open& open)
    : OwnCall(member, member.announcements(), call, gpu, open) {}

OwnCall::OwnCall(Member& member, Announcements& announcements, const Call& call, int gpu,
                 const Open& open)
    : member_(member), call_(call), gpu_(gpu), open_(open) {
  turn_.announcements = &announcements;
  turn_.begin = [this] { return begin(); };
}

OwnCall::~OwnCall() {
  if (turns_ != nullptr && turn_.state == Turn::State::waiting) turns_->withdraw(turn_);
  if (done_) member_.give_back(*done_);
}

void OwnCall::announce(Turns& turns, Buffers buffers, const std::function<void()>& wait,
                       std::unique_ptr<Mark> mark) {
  before_ = mark != nullptr ? std::move(mark) : std::make_unique<Mark>(member_);
  turn_.announcements->make_room(wait);
  turns_ = &turns;
  turns.announce(turn_, buffers);
}

bool OwnCall::begin() {
  try {
    if (!member_.can_run(call_, gpu_, open_)) return false;
    done_ = member_.enqueue(call_, before_->event());
  } catch (const std::exception& error) {
    problem_ = error.what();
    member_.abort(problem_);
  }
  return true;
}

void OwnCall::require_begun() const {
  if (!done_) throw Error(ErrorCode::communicator, problem_);
}

bool OwnCall::is_over() {
  require_begun();
  member_.check();
  return member_.is_done(*done_);
}

void OwnCall::await() {
  require_begun();
  member_.await(*done_);
}

}  // namespace polypath::mpi
