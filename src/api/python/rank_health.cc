#include "api/python/rank_health.h"

#include <utility>

#include "core/ignore_errors.h"

namespace polypath::python {

void RankHealth::begin(Communicator& communicator) {
  const std::scoped_lock lock(mutex_);
  communicator_ = &communicator;
}

void RankHealth::end(std::optional<Error> problem) {
  const std::scoped_lock lock(mutex_);
  communicator_ = nullptr;
  problem_ = std::move(problem);
}

void RankHealth::check() {
  const std::scoped_lock lock(mutex_);
  if (communicator_ != nullptr) communicator_->check();
  else if (problem_) throw Error(*problem_);
}

void RankHealth::abort(const std::string& why) {
  const std::scoped_lock lock(mutex_);
  if (communicator_ != nullptr) communicator_->abort(why);
}

bool RankHealth::may_fail() {
  const std::scoped_lock lock(mutex_);
  return communicator_ != nullptr || problem_;
}

bool RankHealth::is_known() {
  const std::scoped_lock lock(mutex_);
  return is_known_;
}

void RankHealth::note_told() {
  const bool is_well = ignore_errors([this] { check(); });
  const std::scoped_lock lock(mutex_);
  is_known_ = is_known_ || !is_well;
}

void StreamUsers::add(const std::shared_ptr<RankHealth>& user) {
  const std::scoped_lock lock(mutex_);
  if (std::find(users_.begin(), users_.end(), user) == users_.end()) users_.push_back(user);
}

void StreamUsers::check() {
  std::vector<std::shared_ptr<RankHealth>> users;
  {
    const std::scoped_lock lock(mutex_);
    std::erase_if(users_, [](const auto& user) { return !user->may_fail(); });
    users = users_;
  }
  for (const auto& user : users) user->check();
}

bool StreamUsers::empty() {
  const std::scoped_lock lock(mutex_);
  return users_.empty();
}

}  // namespace polypath::python
