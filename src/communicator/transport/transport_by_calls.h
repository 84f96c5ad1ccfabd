#pragma once
// Messages by the calls of a library that wait, as process groups of deep learning frameworks have
// them: a thread for each other rank and direction makes them.
//
//   send() receive() ─▶ queue ─▶ its thread ─▶ the library's call, which waits
//   failure()        ◀─ last words of a rank ◀─ a thread that awaits them, in a lane of their own
//
// Each message is two of the library's: its tag and size, and its bytes, which are received once
// the size is known to be the expected one.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "communicator/transport/transport.h"

namespace polypath::communicator {

/// Each waits until it is done, and throws an Error if it cannot be. Bytes of one lane arrive in
/// the order of their calls. Of one rank, lane and direction one call is made at a time.
struct WaitingCalls {
  enum Lane { messages, last_words };

  std::function<void(int to, Lane lane, std::span<const std::byte> bytes)> send;
  std::function<void(int from, Lane lane, std::span<std::byte> bytes)> receive;
  /// Ends all calls of this rank that wait, by errors; and those of the others that wait for it.
  std::function<void()> stop;
};

/// Ends that have not come to their end some seconds after the transport's keep their threads.
std::unique_ptr<Transport> transport_by_calls(WaitingCalls calls, int rank, int size);

}  // namespace polypath::communicator
