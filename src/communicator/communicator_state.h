#pragma once
// A communicator's record of its calls, and the state that the watching thread reads.

#include <mutex>
#include <optional>
#include <string>

#include "communicator/abort_callbacks.h"
#include "communicator/calls_under_way.h"
#include "communicator/communicator.h"
#include "communicator/node/call_log.h"
#include "communicator/node/control_block_sharing.h"
#include "communicator/watcher.h"

namespace polypath::communicator {

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
  void set_timeout(Seconds timeout) { under_way_.set_timeout(timeout); }
  [[nodiscard]] AgreementRing agreements() const { return block_.offers(local_); }
  [[nodiscard]] HandleBoard handles() const { return block_.notices(local_); }
  bool look() noexcept override;

 private:
  void check_usable() const;
  void throw_if_aborted();
  [[nodiscard]] std::optional<std::string> difference_to_slower();
  void take_new();
  void look_for_problems();

  const int local_;
  const int generation_;
  ControlBlock block_;

  std::mutex mutex_;  ///< of what follows
  CallLog log_;
  NewCalls new_;  ///< to be watched from the next look on
  bool closed_ = false;

  AbortCallbacks callbacks_;

  std::mutex looking_;  ///< of what follows; taken before the other one
  CallsUnderWay under_way_;
};

}  // namespace polypath::communicator
