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

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "collective/internode/exchange_inbox.h"
#include "collective/internode/exchange_runner.h"
#include "collective/internode/exchange_signals.h"
#include "collective/internode/exchange_task.h"
#include "communicator/node/call_record.h"
#include "core/error.h"
#include "driver/driver.h"

namespace polypath::collective {

/// begin(), start() and finish() are called by one thread at a time; abort() by any.
class NetworkProxy {
 public:
  /// For a rank of a GPU, with words in the memory of a host near it. Errors of the driver.
  NetworkProxy(Driver& driver, PlaceId gpu, PlaceId host, int slots, ProxyGroup group);
  NetworkProxy(const NetworkProxy&) = delete;
  NetworkProxy& operator=(const NetworkProxy&) = delete;
  /// As stop(). Its words must not be waited for any more.
  ~NetworkProxy();

  /// ProxyGroup::until_called and until_sent from the next exchange on.
  void set_timeouts(Seconds until_called, Seconds until_sent) {
    runner_.set_timeouts(until_called, until_sent);
  }

  /// The exchanges that follow are of this call. It is compared with the calls of `others`; a
  /// difference is an error (invalid_argument) that names the rank that differs.
  void begin(const CallRecord& call, const std::vector<int>& others);
  /// It has no more of them. Returns its number.
  std::uint64_t end();
  /// How many calls are over: no message of them is under way.
  [[nodiscard]] std::uint64_t calls_over() const { return runner_.calls_over(); }
  /// Asks for an exchange once the work in the stream, one of the GPU, is over. Its memory is not
  /// to be touched before finish() of the slot.
  void start(int slot, Exchange exchange, StreamHandle stream);
  /// Later work in the stream comes after the exchange.
  void finish(int slot, StreamHandle stream);
  /// No message goes any more.
  void abort(const Error& why);
  /// This rank has ended well, and says so to the others (transport.h).
  void finish() const { runner_.finish(); }
  /// Whether memory of exchanges is in use in spite of an abort (transport.h).
  [[nodiscard]] bool is_busy() const { return runner_.is_busy(); }
  /// Waits for the exchanges asked for, some seconds at most. From here on nothing can be asked
  /// for.
  void stop();

 private:
  Driver& driver_;
  SlotWords words_;
  ReadyEvents events_;
  ExchangeInbox inbox_;
  ExchangeRunner runner_;
  std::string call_;  ///< the latest one, in words
  std::uint64_t calls_ = 0;
  std::thread thread_;
};

}  // namespace polypath::collective
