#pragma once
// The work of a proxy's thread: exchanges start once they are ready, and end, in their order.

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "collective/internode/exchange_inbox.h"
#include "collective/internode/exchange_signals.h"
#include "collective/internode/exchange_task.h"
#include "communicator/transport/transport.h"
#include "core/error.h"
#include "driver/driver.h"

namespace polypath::collective {

/// The other ranks, as a proxy knows them.
struct ProxyGroup {
  std::unique_ptr<Transport> transport;
  /// From when an exchange is ready: for the call records of other ranks, and for their messages
  /// after that.
  Seconds until_called;
  Seconds until_sent;
  /// Told the first error, by the proxy's thread.
  std::function<void(const Error&)> on_problem;
};

class ExchangeRunner {
 public:
  ExchangeRunner(Driver& driver, SlotWords& words, ReadyEvents& events, ProxyGroup group)
      : driver_(driver), words_(words), events_(events), group_(std::move(group)) {}

  /// ProxyGroup::until_called and until_sent from the next exchange on.
  void set_timeouts(Seconds until_called, Seconds until_sent) {
    group_.until_called = until_called, group_.until_sent = until_sent;
  }
  /// How many calls are over: no message of them is under way.
  [[nodiscard]] std::uint64_t calls_over() const { return calls_over_; }
  /// This rank has ended well, and says so to the others (transport.h).
  void finish() const { group_.transport->finish(); }
  [[nodiscard]] bool is_busy() const { return group_.transport->is_busy(); }

  /// Until the inbox is stopped and all is done, or nothing more can be waited for.
  void run(ExchangeInbox& inbox);

 private:
  bool await_work(ExchangeInbox& inbox);
  bool go_on();
  template <class Step>
  bool attempt(Step step) noexcept;
  [[nodiscard]] bool is_ready(const ExchangeTask& task);
  void start(ExchangeTask& task);
  [[nodiscard]] bool is_over(ExchangeTask& task);
  void end(ExchangeTask& task);
  void compare(const ExchangeTask& task) const;
  [[noreturn]] void fail_late(const ExchangeTask& task, const ExchangeMessage& message) const;
  void note(const Error& problem) noexcept;

  Driver& driver_;
  SlotWords& words_;
  ReadyEvents& events_;
  ProxyGroup group_;
  std::atomic<std::uint64_t> calls_over_ = 0;
  std::deque<ExchangeTask> waiting_;    ///< for their events
  std::deque<ExchangeTask> under_way_;  ///< their messages have started
  std::uint32_t started_ = 0;
  bool failed_ = false;
};

}  // namespace polypath::collective
