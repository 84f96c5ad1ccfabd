#include "mpi/turns.h"

#include <algorithm>
#include <optional>

namespace polypath::mpi {

void Turns::announce(Turn& turn, Buffers buffers) {
  const std::scoped_lock lock(mutex_);
  turn.call = turn.announcements->announce(buffers);
  waiting_.push_back(&turn);
}

void Turns::withdraw(Turn& turn) {
  const std::scoped_lock lock(beginning_, mutex_);
  if (std::erase(waiting_, &turn) > 0) turn.announcements->note_decided(turn.call);
}

void Turns::end(Turn& turn, Turn::State state) {
  turn.announcements->note_decided(turn.call);
  std::erase(waiting_, &turn);
  turn.state = state;  // its owner may drop it from now on
}

// A communicator's calls are decided one after the other, and have turns in that order.
void Turns::look_at_all() {
  std::vector<Turn*> mpis;
  std::vector<const Announcements*> held;
  for (Turn* const turn : waiting_) {
    if (turn->number != 0) continue;
    if (std::find(held.begin(), held.end(), turn->announcements) != held.end()) continue;
    const std::optional<bool> ours = turn->announcements->is_ours_at_all(turn->call);
    if (!ours) held.push_back(turn->announcements);
    else if (*ours) turn->number = turn->announcements->turn_of(turn->call);
    else mpis.push_back(turn);
  }
  for (Turn* const turn : mpis) end(*turn, Turn::State::mpis);
}

Turn* Turns::earliest() {
  look_at_all();
  Turn* found = nullptr;
  for (Turn* const turn : waiting_)
    if (turn->number != 0 && (found == nullptr || turn->number < found->number)) found = turn;
  return found;
}

Turn* Turns::first() {
  const std::scoped_lock lock(mutex_);
  Turn* found = earliest();
  for (Turn* before = nullptr; found != before; found = earliest()) before = found;
  return found;
}

void Turns::go_on() {
  const std::unique_lock beginning(beginning_, std::try_to_lock);
  if (!beginning.owns_lock()) return;
  while (Turn* const turn = first()) {
    const bool is_ours = turn->begin();
    const std::scoped_lock lock(mutex_);
    end(*turn, is_ours ? Turn::State::ours : Turn::State::mpis);
  }
}

// Other ranks take as long as they like to come: the longer, the less often they are looked for.
void Turns::go_on_by_itself() {
  const std::scoped_lock lock(mutex_);
  if (waiting_.empty() || goes_on_by_itself_) return;
  goes_on_by_itself_ = true;
  thread_.post([this] {
    constexpr Seconds kLeast{10e-6}, kMost{100e-6};
    for (Seconds pause = kLeast;; pause = std::min(Seconds{2 * pause.value}, kMost)) {
      go_on();
      {
        const std::scoped_lock inner(mutex_);
        goes_on_by_itself_ = !waiting_.empty();
        if (!goes_on_by_itself_) return;
      }
      if (!thread_.pause(pause)) return;
    }
  });
}

void Turns::stop() noexcept {
  thread_.stop();
  const std::scoped_lock lock(mutex_);
  waiting_.clear();
}

}  // namespace polypath::mpi
