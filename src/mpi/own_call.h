#pragma once
// A call that may be ours, from its announcement to its end.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "mpi/member.h"
#include "mpi/turns.h"

namespace polypath::mpi {

/// What the program has put into its default stream by now; nothing before the member's first call.
class Mark {
 public:
  explicit Mark(Member& member);
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  ~Mark();
  [[nodiscard]] std::optional<EventHandle> event() const { return event_; }

 private:
  Member& member_;
  std::optional<EventHandle> event_;
};

/// Announced by a thread of the program's, or one that stands for it; begun by any.
class OwnCall {
 public:
  /// `gpu` has its memory; negative: this rank has none in it. What is handed over must outlive it.
  OwnCall(Member& member, const Call& call, int gpu, const Open& open);
  /// The same, announced beside the communicator's other calls.
  OwnCall(Member& member, Announcements& announcements, const Call& call, int gpu,
          const Open& open);
  OwnCall(const OwnCall&) = delete;
  OwnCall& operator=(const OwnCall&) = delete;
  /// Its work must be over. If it waits for its turn still, that is withdrawn.
  ~OwnCall();

  /// It is made behind the mark, or else behind one that is made here. While other ranks are far
  /// behind, `wait` is called.
  void announce(Turns& turns, Buffers buffers, const std::function<void()>& wait,
                std::unique_ptr<Mark> mark = nullptr);
  [[nodiscard]] Turn::State state() const { return turn_.state; }
  /// Of a call that is ours: whether it is over. Errors: why it could not be begun, those of the
  /// driver, and those of other ranks.
  [[nodiscard]] bool is_over();
  /// Waits until it is over. Errors as is_over().
  void await();

 private:
  bool begin();
  void require_begun() const;

  Member& member_;
  Call call_;
  int gpu_;
  const Open& open_;
  Turn turn_;
  Turns* turns_ = nullptr;  ///< once it is announced
  std::unique_ptr<Mark> before_;
  std::optional<EventHandle> done_;
  std::string problem_;  ///< why it could not be begun
};

}  // namespace polypath::mpi
