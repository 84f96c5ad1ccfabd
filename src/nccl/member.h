#pragma once
// One rank of a communicator whose calls may be ours: its end of our collectives, beside NCCL's.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "collective/rank/node_collectives.h"
#include "collective/rank/rank_messages.h"
#include "collective/rank/seen_gpus.h"
#include "core/settings.h"
#include "driver/driver.h"
#include "engine/execute/events.h"
#include "nccl/call.h"
#include "nccl/choices.h"
#include "nccl/counts.h"

namespace polypath::nccl {

/// Where ranks of this process are: their machine, with the program's own contexts.
struct Surroundings : RanksMachine {
  /// The driver's handle of a program's stream, and the program's handle of a stream that the
  /// driver has made.
  std::function<StreamHandle(PlaceId gpu, Stream stream)> handle_of;
  std::function<Stream(StreamHandle stream)> native;
  /// Choices are kept for other programs of this user.
  bool keeps_choices = false;
};

/// Thread-safe.
class Member {
 public:
  /// All ranks make theirs at the same time. `gpu` is this rank's. Waits for all ranks, for
  /// `timeout` at most. Errors: those of Communicator and NodeCollectives, among them that kernels
  /// of these GPUs cannot exchange messages.
  Member(const Surroundings& around, PlaceId gpu, std::unique_ptr<Bootstrap> bootstrap,
         Seconds timeout);
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  /// As leave().
  ~Member();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] PlaceId gpu() const { return gpu_; }
  [[nodiscard]] const Surroundings& around() const { return around_; }
  /// Blobs of all ranks, in order. Waits for them: for when a communicator is made.
  std::vector<Blob> all_gather(const Blob& mine);

  /// From here on calls may wait for other ranks for as long as they like, as NCCL's do, and
  /// nothing is exchanged any more.
  void work_for_ever();

  void choose_by(Choices choices) { choices_ = std::move(choices); }
  [[nodiscard]] const Choices& choices() const { return choices_; }
  /// Whether we have such a call and are faster, which all ranks find alike.
  [[nodiscard]] bool is_ours(const Call& call) const;

  /// Enqueues calls of ours in their streams, as NCCL does those of one group: work already in any
  /// of these streams comes before all of the calls, work put into any of them later comes after
  /// all. Waits for no other rank. Errors: as NodeCollectives::run(); RefusedByAll if they are
  /// NCCL's after all.
  void run(std::span<const Call> calls);
  void run(const Call& call);

  // --- sends and receives ---

  /// False if the GPUs of this process are simulated.
  [[nodiscard]] bool has_messages() const { return messages_ != nullptr; }
  /// Whose a send to or a receive of another rank is, which both ends find alike. Ours becomes a
  /// task, and is to be run. Errors: as RankMessages::decide().
  [[nodiscard]] Fate decide(const Call& call, std::vector<MessageTask>& tasks);
  /// The same whatever was measured. False if both ends leave it.
  [[nodiscard]] bool begin_message(const Call& call, std::vector<MessageTask>& tasks);
  /// Sends of this rank to itself and what receives them, in order. False if they do not fit.
  [[nodiscard]] bool begin_copies(std::span<const Call> sends, std::span<const Call> receives,
                                  std::vector<MessageTask>& tasks);
  /// Enqueues tasks that all run at the same time, of calls with these streams. `apart`: other work
  /// that is put into these streams before join_messages() may run at the same time, too.
  void run_messages(std::span<const MessageTask> tasks, std::span<const Call> of, bool apart);
  void join_messages(std::span<const Call> of);
  /// As RankMessages::open() and close(): for when a communicator is made.
  void open_memory(std::span<const Address> memory);
  void close_memory();

  /// The error that has ended this communicator; none if it goes on.
  [[nodiscard]] std::optional<std::string> problem();
  /// True for the first caller.
  [[nodiscard]] bool is_to_be_told() { return !told_.exchange(true); }
  [[nodiscard]] bool is_idle() {
    return ranks_->is_done() && (!messages_ || messages_->is_idle());
  }
  /// Ends queued work at all ranks, done or not.
  void abort();
  /// Waits for queued work, and ends this rank.
  void leave() noexcept;

 private:
  [[nodiscard]] StreamHandle stream_of(const Call& call) const {
    return around_.handle_of(gpu_, call.stream);
  }
  [[nodiscard]] PersistentCall& repeated(const Call& call);
  /// Work in one of the calls' streams, before and after, is in order with the others. Returns the
  /// first one.
  StreamHandle tie_streams(std::span<const Call> calls);
  void run_in(StreamHandle stream, const Call& call) { ranks_->run(repeated(call), stream); }

  Surroundings around_;
  PlaceId gpu_;
  std::mutex mutex_;  ///< guards the members below
  /// Before those whose communicator they use: that is closed first.
  std::unique_ptr<RankMessages> messages_;
  std::unique_ptr<NodeCollectives> ranks_;
  EventSet joined_;
  std::unordered_map<std::string, PersistentCall> repeated_;  ///< by all that a call says
  int rank_, size_;
  Choices choices_;
  std::atomic<bool> told_ = false;
};

}  // namespace polypath::nccl
