#pragma once
// The thread of a rank that sends to other nodes what the rank's stream has put into pinned memory,
// and receives into pinned memory what the stream then takes from there.
//
//   stream:  … copies out │ ready, an event │    …    │ waits for the word │ copies in …
//   proxy:                  seen ─▶ messages start ─▶ all are over ─▶ writes the word
//
// The program's threads wait for nothing. Exchanges start, and end, in the order in which they were
// asked for, which is the same at all ranks: the k-th message that a rank sends to another one is
// the k-th that is received there. An exchange has a slot, and its slot a word that gets the number
// of the exchange. The proxy's thread writes it itself, so that no stream holds it up. The next
// exchange of a slot is asked for after the word of this one is awaited in the same stream, so that
// no number is replaced before it has been seen.
//
// After an error no message goes any more, and an exchange is over as soon as it is ready: waiting
// work on the GPU goes on, with undefined contents, and the other ranks learn of it because this
// rank is gone for them.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "communicator/bootstrap/deadline.h"
#include "communicator/node/call_record.h"
#include "communicator/transport/transport.h"
#include "core/error.h"
#include "driver/driver.h"

namespace polypath {

/// The bytes that one rank sends to others and receives from them at the same time, in pinned
/// memory. May be 0 bytes.
struct Exchange {
  struct Outgoing {
    int to = 0;
    std::span<const std::byte> bytes;
  };
  struct Incoming {
    int from = 0;
    std::span<std::byte> bytes;
  };
  std::vector<Outgoing> out = {};
  std::vector<Incoming> in = {};
};

/// begin(), start() and finish() are called by one thread at a time; abort() by any.
class NetworkProxy {
 public:
  struct Group {
    std::unique_ptr<Transport> transport;
    /// From when an exchange is ready: for the call records of other ranks, and for their messages
    /// after that.
    Seconds until_called;
    Seconds until_sent;
    /// Told the first error, by the proxy's thread.
    std::function<void(const Error&)> on_problem;
  };

  /// For a rank of a GPU, with words in the memory of a host near it. Errors of the driver.
  NetworkProxy(Driver& driver, PlaceId gpu, PlaceId host, int slots, Group group);
  NetworkProxy(const NetworkProxy&) = delete;
  NetworkProxy& operator=(const NetworkProxy&) = delete;
  /// As stop(). Its words must not be waited for any more.
  ~NetworkProxy();

  /// Group::until_called and until_sent from the next exchange on.
  void set_timeouts(Seconds until_called, Seconds until_sent) {
    group_.until_called = until_called, group_.until_sent = until_sent;
  }

  /// The exchanges that follow are of this call. It is compared with the calls of `others`; a
  /// difference is an error (invalid_argument) that names the rank that differs.
  void begin(const CallRecord& call, const std::vector<int>& others);
  /// It has no more of them. Returns its number.
  std::uint64_t end();
  /// How many calls are over: no message of them is under way.
  [[nodiscard]] std::uint64_t calls_over() const { return calls_over_; }
  /// Asks for an exchange once the work in the stream, one of the GPU, is over. Its memory is not
  /// to be touched before finish() of the slot.
  void start(int slot, Exchange exchange, StreamHandle stream);
  /// Later work in the stream comes after the exchange.
  void finish(int slot, StreamHandle stream);
  /// No message goes any more.
  void abort(const Error& why);
  /// This rank has ended well, and says so to the others (transport.h).
  void finish() const { group_.transport->finish(); }
  /// Waits for the exchanges asked for, some seconds at most. From here on nothing can be asked
  /// for.
  void stop();

 private:
  /// A call as this rank and the others know it.
  struct Comparison {
    CallWords own = {};
    std::vector<CallWords> others;
  };
  struct Message {
    MessageNumber number = 0;
    int other = 0;
    bool is_sent = false;
    Bytes bytes;
  };
  struct Task {
    EventHandle ready;  ///< none: it is at once
    Exchange exchange;
    int slot = -1;
    std::uint32_t number = 0;
    std::string call;
    std::unique_ptr<Comparison> comparison = nullptr;
    bool is_last = false;  ///< of a call; it has no messages
    std::vector<Message> messages = {};
    Deadline deadline{Seconds{}};
  };

  [[nodiscard]] Address word(int slot) const;
  EventHandle take_event();
  void add(Task task);

  // The proxy's thread.
  void run();
  bool await_work();
  bool go_on();
  void take_new();
  template <class Step>
  bool attempt(Step step) noexcept;
  [[nodiscard]] bool is_ready(const Task& task);
  void start(Task& task);
  [[nodiscard]] bool is_over(Task& task);
  void end(Task& task);
  void compare(const Task& task) const;
  [[noreturn]] void fail_late(const Task& task, const Message& message) const;
  void note(const Error& problem) noexcept;

  Driver& driver_;
  PlaceId gpu_, host_;
  Group group_;
  Address words_;
  std::vector<std::uint32_t> numbers_;  ///< of the slots' last exchanges
  std::string call_;                    ///< the latest one, in words
  std::uint64_t calls_ = 0;
  std::atomic<std::uint64_t> calls_over_ = 0;

  std::mutex mutex_;  ///< guards the members below
  std::condition_variable changed_;
  std::deque<Task> new_;
  std::vector<EventHandle> events_;  ///< not in use
  std::optional<Error> aborted_;     ///< why, once it is
  std::optional<Deadline> stops_;    ///< once it is to end: by then

  // The proxy's thread only.
  std::deque<Task> waiting_;    ///< for their events
  std::deque<Task> under_way_;  ///< their messages have started
  std::uint32_t started_ = 0;
  bool failed_ = false;

  std::thread thread_;
};

}  // namespace polypath
