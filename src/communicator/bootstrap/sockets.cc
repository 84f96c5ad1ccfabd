#include "communicator/bootstrap/sockets.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "core/interruption.h"

namespace polypath::communicator {
namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses resolve(const SocketAddress& address, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int why = getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (why == EAI_AGAIN) return {nullptr, freeaddrinfo};  // perhaps later
  if (why != 0)
    fail(ErrorCode::invalid_argument, fmt::format("'{}' cannot be used", address.text()),
         gai_strerror(why), "Give HOST:PORT of rank 0.");
  return {found, freeaddrinfo};
}

Descriptor open_socket(const addrinfo& at) {
  return Descriptor(socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void hurry(const Descriptor& socket) {
  const int yes = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
}

bool wait_for(const Descriptor& socket, short events, const Deadline& deadline) {
  constexpr int kLongestPoll = 50;  // milliseconds
  pollfd asked{socket.get(), events, 0};
  while (!deadline.has_passed()) {
    if (poll(&asked, 1, deadline.milliseconds_left(kLongestPoll)) > 0) return true;
    check_interruption();
  }
  return false;
}

// One attempt, which takes as long as the network lets it.
Descriptor try_to_connect(const addrinfo& at, const Deadline& deadline) {
  Descriptor made = open_socket(at);
  if (!made.is_open()) return {};
  if (connect(made.get(), at.ai_addr, at.ai_addrlen) == 0) return made;
  if (errno != EINPROGRESS || !wait_for(made, POLLOUT, deadline)) return {};
  int problem = 0;
  socklen_t size = sizeof problem;
  getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &problem, &size);
  return problem == 0 ? std::move(made) : Descriptor();
}

// If no process listens at a port, the system sometimes connects a socket to itself.
bool is_own_end(const Descriptor& socket) {
  sockaddr_storage here{}, there{};
  socklen_t here_size = sizeof here, there_size = sizeof there;
  return getsockname(socket.get(), reinterpret_cast<sockaddr*>(&here), &here_size) == 0 &&
         getpeername(socket.get(), reinterpret_cast<sockaddr*>(&there), &there_size) == 0 &&
         here_size == there_size && std::memcmp(&here, &there, here_size) == 0;
}

}  // namespace

std::string SocketAddress::text() const {
  return host.find(':') == std::string::npos ? host + ":" + port : "[" + host + "]:" + port;
}

SocketAddress parse_socket_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  SocketAddress address;
  if (colon != std::string::npos) address = {text.substr(0, colon), text.substr(colon + 1)};
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  unsigned port = 0;
  const char* const end = address.port.data() + address.port.size();
  const auto [read, problem] = std::from_chars(address.port.data(), end, port);
  if (address.host.empty() || problem != std::errc{} || read != end || port > 65535)
    fail(ErrorCode::invalid_argument, fmt::format("'{}' is no address", text),
         "it must be HOST:PORT or [IPV6]:PORT", "Give the address where rank 0 listens.");
  return address;
}

Descriptor listen_at(const SocketAddress& address) {
  const Addresses found = resolve(address, AI_PASSIVE);
  std::string why = "the name is not known now";
  for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
    Descriptor listener = open_socket(*at);
    const int yes = 1;
    if (listener.is_open()) setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (listener.is_open() && bind(listener.get(), at->ai_addr, at->ai_addrlen) == 0 &&
        listen(listener.get(), SOMAXCONN) == 0)
      return listener;
    why = std::strerror(errno);
  }
  fail(ErrorCode::communicator, fmt::format("Rank 0 cannot listen at {}", address.text()), why,
       "Give an address of the computer of rank 0 and a port that is free.");
}

Descriptor accept_from(const Descriptor& listener) {
  Descriptor made(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (made.is_open()) hurry(made);
  return made;
}

Descriptor connect_to(const SocketAddress& address, const Deadline& deadline) {
  Descriptor made;
  wait_until(deadline, [&] {
    const Addresses found = resolve(address, 0);
    for (const addrinfo* at = found.get(); at != nullptr && !made.is_open(); at = at->ai_next) {
      made = try_to_connect(*at, deadline);
      if (made.is_open() && is_own_end(made)) made = Descriptor();
    }
    return made.is_open();
  });
  if (made.is_open()) hurry(made);
  return made;
}

SocketAddress own_address(const Descriptor& socket) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at), &size) == 0)
    getnameinfo(reinterpret_cast<sockaddr*>(&at), size, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
  return {host, port};
}

bool send_all(const Descriptor& socket, const std::string& bytes, const Deadline& deadline) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t more = send(socket.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (more >= 0) {
      sent += static_cast<std::size_t>(more);
      continue;
    }
    const bool full = errno == EAGAIN;
    const bool may_go_on = full ? wait_for(socket, POLLOUT, deadline) : errno == EINTR;
    if (!may_go_on) return false;
  }
  return true;
}

namespace {

Moved moved(ssize_t bytes, bool none_is_gone) {
  if (bytes > 0) return {.bytes = static_cast<std::size_t>(bytes)};
  if (bytes == 0) return {.gone = none_is_gone};
  return {.gone = errno != EAGAIN && errno != EINTR};
}

}  // namespace

Moved send_some(const Descriptor& socket, std::span<const std::byte> bytes, bool more) {
  const int flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
  return moved(send(socket.get(), bytes.data(), bytes.size(), flags), false);
}

Moved receive_some(const Descriptor& socket, std::span<std::byte> bytes) {
  return moved(recv(socket.get(), bytes.data(), bytes.size(), 0), true);
}

Received receive_into(const Descriptor& socket, std::string& inbox) {
  char part[16384];
  const ssize_t more = recv(socket.get(), part, sizeof part, 0);
  if (more > 0) inbox.append(part, static_cast<std::size_t>(more));
  if (more > 0) return Received::some;
  const bool later = more < 0 && (errno == EAGAIN || errno == EINTR);
  return later ? Received::nothing_yet : Received::gone;
}

}  // namespace polypath::communicator
