#pragma once
// The order in which a process begins its calls of ours, the same at all ranks.
//
// Work of two calls on a GPU may be in each other's way: kernels that wait for other ranks take
// multiprocessors, copies that wait for a flag take queues. If two ranks began two calls of two
// communicators in different orders, each call could wait for the other one. So every rank begins
// its calls in the order of their turns, and all of them in one stream of the GPU.
//
// A rank that sees a turn sees all that was announced before that turn was given. So once it has
// seen a turn, looked at all its calls again, and found none that is earlier, none will get one.

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "core/background.h"
#include "mpi/announcements.h"

namespace polypath::mpi {

/// A call of ours, if all ranks announce it so.
struct Turn {
  enum class State {
    waiting,  ///< for the others, or for earlier turns
    ours,     ///< begun on the GPU, or failed
    mpis      ///< not ours, at all ranks
  };

  Announcements* announcements = nullptr;  ///< of its communicator
  /// Begins it; true if ours can be made at all, which all ranks find alike. Must not throw.
  std::function<bool()> begin;
  std::atomic<State> state{State::waiting};
  std::uint64_t call = 0;
  std::uint64_t number = 0;  ///< 0: not known yet
};

/// Thread-safe.
class Turns {
 public:
  Turns() : thread_(Background::Priority::normal) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;
  ~Turns() { thread_.stop(); }

  /// Announces the call, after make_room(). It must live until it waits no more, or until stop().
  void announce(Turn& turn, Buffers buffers);
  /// A call that waits still is not to be begun any more: its rank has given up.
  void withdraw(Turn& turn);
  /// Begins the calls whose turn it is, if no other thread is at it.
  void go_on();
  /// A thread begins them, until none waits.
  void go_on_by_itself();
  /// Forgets all: the program makes no more calls.
  void stop() noexcept;

 private:
  [[nodiscard]] Turn* first();
  [[nodiscard]] Turn* earliest();
  void look_at_all();
  void end(Turn& turn, Turn::State state);

  std::mutex beginning_;
  std::mutex mutex_;  ///< guards the members below
  /// In the order of the program's calls. None is announced while they are looked at.
  std::vector<Turn*> waiting_;
  bool goes_on_by_itself_ = false;
  Background thread_;
};

}  // namespace polypath::mpi
