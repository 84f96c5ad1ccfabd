#pragma once
// What is asked of a proxy's thread: an exchange, with all that it needs to know of it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "communicator/bootstrap/deadline.h"
#include "communicator/node/call_record.h"
#include "communicator/transport/transport.h"
#include "driver/driver.h"

namespace polypath::collective {

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

/// A call as this rank and the others know it.
struct CallComparison {
  CallWords own = {};
  std::vector<CallWords> others;
};

/// A message under way.
struct ExchangeMessage {
  MessageNumber number = 0;
  int other = 0;
  bool is_sent = false;
  Bytes bytes;
};

struct ExchangeTask {
  EventHandle ready;  ///< none: it is at once
  Exchange exchange;
  int slot = -1;
  std::uint32_t number = 0;
  std::string call;
  std::unique_ptr<CallComparison> comparison = nullptr;
  bool is_last = false;  ///< of a call; it has no messages
  std::vector<ExchangeMessage> messages = {};
  Deadline deadline{Seconds{}};
};

/// The task that compares a call with those of `others`.
ExchangeTask comparison_of(const CallRecord& call, const std::vector<int>& others);

}  // namespace polypath::collective
