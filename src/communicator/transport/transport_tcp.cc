// Two connections for each pair of ranks. One carries messages, each a header and its bytes; bytes
// are read only when a message has been asked for, so that TCP holds back a rank that sends too
// early. On the other one a rank says how it ends (last_words.h).

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "communicator/transport/last_words.h"
#include "communicator/transport/rank_sockets.h"
#include "communicator/transport/transport.h"
#include "core/error.h"

namespace polypath::communicator {
namespace {

constexpr int kLongestPause = 5;  // milliseconds
constexpr const char* kClosed = "the connection to it is closed";

struct MessageHeader {
  std::uint32_t tag = 0;
  std::uint32_t unused = 0;
  std::uint64_t bytes = 0;
};

struct Sent {
  MessageNumber number = 0;
  MessageHeader header;
  std::span<const std::byte> bytes;
  std::size_t done = 0;  ///< of the header and the bytes
};

struct Wanted {
  MessageNumber number = 0;
  MessageHeader header;
  std::span<std::byte> bytes;
  MessageHeader come;
  std::size_t done = 0;
};

/// The state of the connections to one other rank.
struct Peer {
  Descriptor socket;
  std::deque<Sent> sending{};
  std::deque<Wanted> receiving{};
  LastWords last_words{};
  bool takes_nothing = false;  ///< the connection is closed; earlier bytes may be unread
  std::string problem{};       ///< why nothing comes or goes any more
  bool is_closed = false;      ///< that is because its connection is: it may have said more
};

template <class Value>
std::span<const std::byte> bytes_of(const Value& value) {
  return std::as_bytes(std::span(&value, 1));
}

class TcpTransport final : public Transport {
 public:
  TcpTransport(int rank, std::vector<Peer> peers)
      : Transport(rank, static_cast<int>(peers.size())), peers_(std::move(peers)) {}

  bool test(MessageNumber message) override {
    const std::scoped_lock lock(mutex_);
    check_aborted();
    for (Peer& peer : peers_) make_progress(peer);
    const auto found = under_way_.find(message);
    if (found == under_way_.end()) return true;
    Peer& peer = peers_[static_cast<std::size_t>(found->second)];
    if (peer.problem.empty()) return false;
    if (peer.is_closed && peer.last_words.may_come()) return false;
    const std::string given_up = peer.last_words.given_up();
    fail(ErrorCode::communicator,
         fmt::format("rank {} has a message with {} that cannot end", rank(),
                     describe(found->second)),
         given_up.empty() ? peer.problem : "it has given up: " + given_up,
         "Look at what that rank has said, and start all ranks again.");
  }

  void abort(const std::string& why, ErrorCode code) override {
    const std::scoped_lock lock(mutex_);
    if (aborted_.empty()) aborted_ = why.empty() ? "no reason was given" : why;
    for (Peer& peer : peers_) {
      peer.last_words.say(Error(code, aborted_));
      if (peer.socket.is_open()) shutdown(peer.socket.get(), SHUT_RDWR);
      peer.sending.clear(), peer.receiving.clear();
    }
    under_way_.clear();
  }

  void finish() override {
    const std::scoped_lock lock(mutex_);
    for (Peer& peer : peers_) peer.last_words.say(std::nullopt);
  }

  std::optional<Error> failure() override {
    const std::scoped_lock lock(mutex_);
    for (int other = 0; other < size(); ++other) {
      LastWords& words = peers_[static_cast<std::size_t>(other)].last_words;
      if (auto failure = words.failure(rank(), describe(other))) return failure;
    }
    return std::nullopt;
  }

 private:
  MessageNumber start_sending(int to, std::uint32_t tag,
                              std::span<const std::byte> bytes) override {
    const std::scoped_lock lock(mutex_);
    Sent message{.header = {.tag = tag, .bytes = bytes.size()}, .bytes = bytes};
    return start(to, message, &Peer::sending);
  }
  MessageNumber start_receiving(int from, std::uint32_t tag, std::span<std::byte> bytes) override {
    const std::scoped_lock lock(mutex_);
    Wanted message{.header = {.tag = tag, .bytes = bytes.size()}, .bytes = bytes, .come = {}};
    return start(from, message, &Peer::receiving);
  }

  template <class Message>
  MessageNumber start(int other, Message& message, std::deque<Message> Peer::*queue) {
    check_aborted();
    Peer& peer = peers_[static_cast<std::size_t>(other)];
    message.number = ++started_;
    under_way_[message.number] = other;
    (peer.*queue).push_back(message);
    make_progress(peer);
    return message.number;
  }

  void check_aborted() const {
    if (aborted_.empty()) return;
    fail(ErrorCode::communicator, fmt::format("rank {} sends and receives no more", rank()),
         "it was aborted: " + aborted_, "Start all ranks again.");
  }

  void make_progress(Peer& peer) {
    if (!peer.problem.empty()) return;
    while (!peer.sending.empty() && go_on(peer, peer.sending.front())) end(peer.sending);
    while (peer.problem.empty() && !peer.receiving.empty() && go_on(peer, peer.receiving.front()))
      end(peer.receiving);
    if (peer.takes_nothing && peer.problem.empty()) close(peer);
  }

  template <class Message>
  void end(std::deque<Message>& messages) {
    under_way_.erase(messages.front().number);
    messages.pop_front();
  }

  static void close(Peer& peer) { peer.problem = kClosed, peer.is_closed = true; }

  // True if the message is over.
  static bool go_on(Peer& peer, Sent& message) {
    while (message.done < sizeof(MessageHeader) + message.bytes.size()) {
      const bool in_header = message.done < sizeof(MessageHeader);
      const auto from = in_header ? bytes_of(message.header).subspan(message.done)
                                  : message.bytes.subspan(message.done - sizeof(MessageHeader));
      const Moved moved = send_some(peer.socket, from, in_header && !message.bytes.empty());
      if (moved.gone) peer.takes_nothing = true;
      if (moved.bytes == 0) return false;
      message.done += moved.bytes;
    }
    return true;
  }

  static bool go_on(Peer& peer, Wanted& message) {
    while (message.done < sizeof(MessageHeader) + message.bytes.size()) {
      const bool in_header = message.done < sizeof(MessageHeader);
      const auto header = std::as_writable_bytes(std::span(&message.come, 1));
      const auto into = in_header ? header.subspan(message.done)
                                  : message.bytes.subspan(message.done - sizeof(MessageHeader));
      const Moved moved = receive_some(peer.socket, into);
      if (moved.gone) close(peer);
      if (moved.bytes == 0) return false;
      message.done += moved.bytes;
      if (in_header && message.done == sizeof(MessageHeader) && !is_wanted(peer, message))
        return false;
    }
    return true;
  }

  static bool is_wanted(Peer& peer, const Wanted& message) {
    const auto& [want, come] = std::pair(message.header, message.come);
    if (want.tag == come.tag && want.bytes == come.bytes) return true;
    peer.problem = fmt::format("it sent {} bytes with tag {} where {} with tag {} were expected",
                               come.bytes, come.tag, want.bytes, want.tag);
    return false;
  }

  void pause() override {
    std::vector<pollfd> asked;
    {
      const std::scoped_lock lock(mutex_);
      for (const Peer& peer : peers_) {
        const int events =
            (peer.sending.empty() ? 0 : POLLOUT) | (peer.receiving.empty() ? 0 : POLLIN);
        if (events != 0 && peer.problem.empty())
          asked.push_back({peer.socket.get(), static_cast<short>(events), 0});
      }
    }
    poll(asked.data(), asked.size(), kLongestPause);
  }

  std::string awaited(MessageNumber message) override {
    const std::scoped_lock lock(mutex_);
    for (int other = 0; other < size(); ++other) {
      const Peer& peer = peers_[static_cast<std::size_t>(other)];
      for (const Sent& each : peer.sending)
        if (each.number == message)
          return describe_part(other, true, each.header.bytes, each.header.tag);
      for (const Wanted& each : peer.receiving)
        if (each.number == message)
          return describe_part(other, false, each.header.bytes, each.header.tag);
    }
    return "a message that is over";
  }

  std::mutex mutex_;
  std::vector<Peer> peers_;  ///< by rank; nothing at this one's
  std::map<MessageNumber, int> under_way_;
  MessageNumber started_ = 0;
  std::string aborted_;
};

}  // namespace

std::unique_ptr<Transport> transport_by_tcp(Bootstrap& bootstrap, const std::string& host,
                                            Seconds timeout) {
  std::vector<Peer> peers;
  for (Descriptor& socket : connect_ranks(bootstrap, host, timeout))
    peers.push_back({.socket = std::move(socket)});
  std::vector<Descriptor> beside = connect_ranks(bootstrap, host, timeout);
  for (std::size_t other = 0; other < peers.size(); ++other)
    peers[other].last_words = LastWords(std::move(beside[other]));
  return std::make_unique<TcpTransport>(bootstrap.rank(), std::move(peers));
}

}  // namespace polypath::communicator
