#pragma once
// The messages of a rank that are enqueued and not over, and why one of them will not be: it is an
// error
//   - at once, if the other rank has ended or left and had not come to the message;
//   - after a second, if it has ended and had come to it: its part may be done nevertheless.

#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collective/rank/message_pair.h"
#include "communicator/communicator.h"
#include "communicator/watcher.h"

namespace polypath::collective {

/// Thread-safe.
class MessagesUnderWay final : public Watched {
 public:
  /// True if the other end has come to a message.
  using HasCome = std::function<bool(const MessageTask& task)>;

  MessagesUnderWay(Driver& driver, PlaceId gpu, Communicator& communicator,
                   const MessageSegment& segment, HasCome has_come)
      : driver_(driver),
        gpu_(gpu),
        communicator_(communicator),
        segment_(segment),
        has_come_(std::move(has_come)) {}
  MessagesUnderWay(const MessagesUnderWay&) = delete;
  MessagesUnderWay& operator=(const MessagesUnderWay&) = delete;
  ~MessagesUnderWay() override;

  /// Launches of one group run at the same time, and after those of earlier groups.
  void begin_group() { ++group_; }
  /// The tasks have been enqueued on the stream: the number of their launch, counted from 1.
  std::uint64_t add(std::vector<MessageTask> tasks, StreamHandle stream);
  /// Later work of the stream comes after all launches of this group, or of the one before.
  void come_after(StreamHandle stream, bool this_group);
  [[nodiscard]] bool is_over(std::uint64_t launch);
  [[nodiscard]] bool is_idle();

  bool look() noexcept override;
  /// Nothing is looked at any more.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  struct Launch {
    std::uint64_t number = 0, group = 0;
    EventHandle end;
    StreamHandle stream;
    std::vector<MessageTask> tasks;
    std::optional<Clock::time_point> bereft = {};  ///< since when a rank is known to have ended
  };

  [[nodiscard]] EventHandle take_event();
  void forget_done();
  [[nodiscard]] bool look_at_all();
  [[nodiscard]] std::string problem();
  [[nodiscard]] std::string problem_with(Launch& launch, const MessageTask& task) const;
  [[nodiscard]] std::string described(const MessageTask& task) const;

  Driver& driver_;
  PlaceId gpu_;
  Communicator& communicator_;
  const MessageSegment& segment_;
  HasCome has_come_;

  std::mutex looking_;  ///< taken before the other one
  bool is_closed_ = false;
  std::mutex mutex_;  ///< of what follows
  std::deque<Launch> launches_;
  std::vector<EventHandle> spare_;
  std::uint64_t number_ = 0, group_ = 0;
};

}  // namespace polypath::collective
