#pragma once
// TCP connections that never wait for longer than they may.

#include <cstddef>
#include <span>
#include <string>

#include "communicator/bootstrap/deadline.h"
#include "core/descriptor.h"

namespace polypath::communicator {

/// HOST:PORT; of HOST:0 the system chooses the port.
struct SocketAddress {
  std::string host;
  std::string port;

  [[nodiscard]] std::string text() const;
};

/// Reads HOST:PORT or [IPV6]:PORT. Error (invalid_argument).
SocketAddress parse_socket_address(const std::string& text);

/// Error (communicator) if this process cannot listen there.
Descriptor listen_at(const SocketAddress& address);
/// The next connection that another process has made; none if there is none.
Descriptor accept_from(const Descriptor& listener);
/// Tries until a process listens; none if no process does in time.
Descriptor connect_to(const SocketAddress& address, const Deadline& deadline);

/// The numeric host of this end, and the port it has.
SocketAddress own_address(const Descriptor& socket);

/// False if the other end has gone or the time is over.
bool send_all(const Descriptor& socket, const std::string& bytes, const Deadline& deadline);

/// How many bytes went without waiting, and whether the other end has gone.
struct Moved {
  std::size_t bytes = 0;
  bool gone = false;
};
/// With `more` the rest of a message follows at once.
Moved send_some(const Descriptor& socket, std::span<const std::byte> bytes, bool more = false);
Moved receive_some(const Descriptor& socket, std::span<std::byte> bytes);

enum class Received { some, nothing_yet, gone };
/// Appends to `inbox` what has come.
Received receive_into(const Descriptor& socket, std::string& inbox);

}  // namespace polypath::communicator
