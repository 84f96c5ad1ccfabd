#pragma once
// A communicator's record of its calls, and the state that the watching thread reads.
//
// A call that is not over is an error
//   - at once, if a rank that has not come to it has ended or left;
//   - after a second, if a rank has ended that had come to it: its part may be done nevertheless;
//   - after the timeout, counted from when it was to be watched, or from when an earlier call was
//     over, whichever is later: a long queue is no fault. If no rank of the node is missing, but
//     there are other nodes, a second later.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "communicator/communicator.h"
#include "communicator/node/call_log.h"
#include "communicator/node/control_block_sharing.h"
#include "communicator/watcher.h"

namespace polypath {

/// Thread-safe.
class CommunicatorState final : public Watched {
 public:
  CommunicatorState(Agreement agreement, ControlBlock block, int rank, Seconds timeout);

  const int rank;
  const Agreement agreement;

  CallNumber begin(const CallRecord& call);
  void watch(CallNumber call, Communicator::Question is_done);
  void doubt(Communicator::Doubt doubt);
  void on_abort(Communicator::Callback callback);
  void abort(ErrorCode code, const std::string& why);
  void check();
  void note_settled();
  [[nodiscard]] bool await_settled(Seconds timeout);
  void close();
  void set_timeout(Seconds timeout) { timeout_ = timeout.value; }
  [[nodiscard]] AgreementRing agreements() const { return block_.offers(local_); }
  [[nodiscard]] HandleBoard handles() const { return block_.notices(local_); }
  bool look() noexcept override;

 private:
  using Clock = std::chrono::steady_clock;

  struct UnderWay {
    CallNumber call;
    Communicator::Question is_done;
    Clock::time_point since;
    std::optional<Clock::time_point> bereft = {};  ///< since when a rank is known to have ended
  };

  void check_usable() const;
  void throw_if_aborted();
  [[nodiscard]] std::optional<std::string> difference_to_slower();
  void tell_aborted();
  void take_new();
  void forget_done();
  void look_for_problems();
  [[nodiscard]] std::string problem();
  [[nodiscard]] std::string problem_with(int other);
  [[nodiscard]] std::string overdue() const;
  [[nodiscard]] std::string describe_call(CallNumber call) const;
  [[nodiscard]] std::vector<int> missing(CallNumber call) const;
  [[nodiscard]] std::string who_is_missing(CallNumber call) const;
  [[nodiscard]] int rank_of(int local) const;

  const std::vector<int>& ranks_;  ///< of this node
  const int local_;
  std::atomic<double> timeout_;  ///< in seconds
  const int generation_;
  ControlBlock block_;

  std::mutex mutex_;  ///< of what follows
  std::condition_variable all_told_;
  CallLog log_;
  std::vector<UnderWay> new_;  ///< to be watched from the next look on
  std::vector<Communicator::Callback> callbacks_;
  std::uint64_t watched_ = 0;  ///< calls
  bool told_ = false;          ///< the callbacks were called, or are being
  int telling_ = 0;            ///< threads that call them now
  bool closed_ = false;

  std::mutex looking_;  ///< guards the members below; taken before the other one
  std::vector<UnderWay> under_way_;
  CallNumber over_once_done_ = 0;  ///< all calls up to this one are over once nothing is under way
  std::vector<Communicator::Doubt> doubts_;
};

}  // namespace polypath
