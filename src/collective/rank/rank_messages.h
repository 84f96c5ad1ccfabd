#pragma once
// One rank's messages to single other ranks of its node, without the others: sends and receives.
//
//   decide(message): which end comes first, and has it opened its memory (message_pair.h)? ─▶ left,
//   or a task ─▶ run(tasks): one kernel for all of a group (kernels/messages.h) ─▶ watched
//
// The end that comes first says where its memory is, signals that it is ready, and waits on the
// GPU. The second one copies, from or to there. The host waits for no other rank. What is left is
// left at both ends: until the first end's memory is open to the other one, while more messages are
// not over than fit on a GPU at the same time, and a thousand messages ahead of the other end.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "collective/rank/message_launcher.h"
#include "collective/rank/message_pair.h"
#include "collective/rank/messages_under_way.h"
#include "communicator/communicator.h"
#include "communicator/watcher.h"
#include "engine/execute/events.h"

namespace polypath::collective {

/// Not thread-safe.
class RankMessages {
 public:
  struct Limits {
    unsigned multiprocessors = 2;  ///< of a launch with few copies
    unsigned blocks = 0;           ///< that run at the same time on this rank's GPU; 0: any number
    /// True while the communicator has no other work queued here.
    std::function<bool()> is_idle_beside = [] { return true; };
  };
  /// All ranks make theirs at the same time; `gpus` are theirs. Errors: those of the driver and of
  /// the exchange.
  RankMessages(Driver& driver, const std::vector<PlaceId>& gpus, Communicator& communicator,
               const Limits& limits);
  RankMessages(const RankMessages&) = delete;
  RankMessages& operator=(const RankMessages&) = delete;
  /// After leave(), and after the communicator is closed.
  ~RankMessages();

  /// This rank's end of the next message: both ends count the same ones. None if both leave it.
  /// Errors: that of an abort; invalid_argument if the ends differ.
  std::optional<MessageTask> decide(const PairMessage& message);
  /// As MessagePair has it.
  [[nodiscard]] bool has_room(int peer, Direction direction) {
    return pair(peer).has_room(direction);
  }
  void note_captured(int peer, Direction direction) { pair(peer).note_captured(direction); }
  /// A copy within this rank, as one of the tasks of a group.
  [[nodiscard]] MessageTask copy_within(Address source, Address destination, Bytes bytes) const;

  /// Enqueues tasks that all run at the same time: after earlier work in the stream, and after
  /// earlier groups. With `apart` other work may run at the same time, too: what is put into the
  /// stream until join() is called. Errors end the communicator: other ranks rely on this one.
  void run(std::span<const MessageTask> tasks, StreamHandle stream, bool apart);
  /// Later work in the stream comes after all tasks that were run last.
  void join(StreamHandle stream) { under_way_->come_after(stream, true); }

  /// All other ranks are told of this rank's memory, or that there is none any more. All ranks call
  /// it at the same time.
  void open(std::span<const Address> memory);
  void close();

  [[nodiscard]] bool is_idle() { return under_way_->is_idle(); }
  /// Waits for queued work: for as long as the communicator is not aborted, and then until it has
  /// ended. No messages are made any more.
  void leave() noexcept;

 private:
  [[nodiscard]] MessagePair& pair(int peer) { return *pairs_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] PlaceId gpu() const { return launcher_->gpu_of(rank_); }
  [[nodiscard]] std::uint64_t agree_on_most(unsigned blocks);
  [[nodiscard]] std::unique_ptr<MessagePair> make_pair_with(int peer,
                                                            const MessagePair::Work& work);
  [[nodiscard]] StreamHandle side_stream(std::size_t number);
  void enqueue(std::span<const MessageTask> tasks, StreamHandle stream, bool apart);
  void launch(std::span<const MessageTask> tasks, const MessageLauncher::Group& group,
              StreamHandle stream);
  void release_when_aborted();
  [[nodiscard]] bool have_all_left() const;

  Driver& driver_;
  Communicator& communicator_;
  int rank_;
  std::shared_ptr<Watcher> watcher_;
  MessageSegment segment_;
  std::unique_ptr<MessageLauncher> launcher_;
  std::shared_ptr<MessagesUnderWay> under_way_;
  std::vector<std::unique_ptr<MessagePair>> pairs_;  ///< by rank; none of this one
  EventSet begun_;
  std::vector<StreamHandle> side_streams_;
  std::thread release_;
};

}  // namespace polypath::collective
