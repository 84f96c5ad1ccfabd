#include "communicator/transport/rank_sockets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "communicator/bootstrap/deadline.h"
#include "communicator/bootstrap/ranks.h"
#include "core/error.h"

namespace polypath::communicator {
namespace {

// Connections that have not said whose they are. A rank says it at once.
constexpr std::size_t kMostStrangers = 64;

/// A rank's first message on a connection.
struct RankIdentity {
  std::array<char, 32> run{};  ///< the name of this run: 128 bits in hexadecimal
  std::int32_t rank = 0;
};

class RankConnector {
 public:
  RankConnector(Bootstrap& bootstrap, const std::string& host, Seconds timeout)
      : bootstrap_(bootstrap),
        deadline_(timeout),
        listener_(listen_at({host, "0"})),
        sockets_(static_cast<std::size_t>(bootstrap.size())) {
    const std::string mine =
        unique_name() + SocketAddress{host, own_address(listener_).port}.text();
    said_ = bootstrap.all_gather(mine, timeout);
    std::copy_n(said_.front().begin(), identity_.run.size(), identity_.run.begin());
    identity_.rank = bootstrap.rank();
  }

  // Connects to the lower ranks; all ranks listen already.
  std::vector<Descriptor> sockets() && {
    for (int other = 0; other < bootstrap_.rank(); ++other) connect(other);
    wait_until(deadline_, [this] { return accept(), missing().empty(); });
    if (const auto late = missing(); !late.empty())
      fail(ErrorCode::communicator,
           fmt::format("Rank {} has no connection to {}", bootstrap_.rank(), describe_ranks(late)),
           "the time for it is over",
           "Look whether the ranks reach each other, and give hosts by which they do.");
    return std::move(sockets_);
  }

 private:
  void connect(int other) {
    const std::string& said = said_[static_cast<std::size_t>(other)];
    Descriptor made =
        connect_to(parse_socket_address(said.substr(identity_.run.size())), deadline_);
    const std::string text(reinterpret_cast<const char*>(&identity_), sizeof identity_);
    if (made.is_open() && send_all(made, text, deadline_)) at(other) = std::move(made);
  }

  void accept() {
    while (true) {
      Descriptor made = accept_from(listener_);
      if (!made.is_open()) break;
      if (strangers_.size() >= kMostStrangers) strangers_.pop_front();
      strangers_.push_back({std::move(made), {}, 0});
    }
    for (Stranger& each : strangers_) listen_to(each);
    std::erase_if(strangers_, [](const Stranger& each) { return !each.socket.is_open(); });
  }

  struct Stranger {
    Descriptor socket;
    RankIdentity identity;
    std::size_t read = 0;
  };

  // A process of another run, or one with the number of a rank that is there already, is not let
  // in.
  void listen_to(Stranger& from) {
    const auto identity = std::as_writable_bytes(std::span(&from.identity, 1));
    const Moved moved = receive_some(from.socket, identity.subspan(from.read));
    from.read += moved.bytes;
    if (moved.gone) from.socket = Descriptor();
    if (from.read < sizeof(RankIdentity)) return;
    const int rank = from.identity.rank;
    const bool is_known = from.identity.run == identity_.run && rank > bootstrap_.rank() &&
                          rank < bootstrap_.size() && !at(rank).is_open();
    Descriptor socket = std::exchange(from.socket, Descriptor());
    if (is_known) at(rank) = std::move(socket);
  }

  [[nodiscard]] std::vector<int> missing() const {
    std::vector<int> ranks;
    for (int other = 0; other < bootstrap_.size(); ++other)
      if (other != bootstrap_.rank() && !sockets_[static_cast<std::size_t>(other)].is_open())
        ranks.push_back(other);
    return ranks;
  }
  Descriptor& at(int rank) { return sockets_[static_cast<std::size_t>(rank)]; }

  Bootstrap& bootstrap_;
  Deadline deadline_;
  Descriptor listener_;
  std::vector<Descriptor> sockets_;  ///< by rank; none at this one's
  std::vector<Blob> said_;           ///< by each rank: a name and where it listens
  RankIdentity identity_;
  std::deque<Stranger> strangers_;
};

}  // namespace

std::vector<Descriptor> connect_ranks(Bootstrap& bootstrap, const std::string& host,
                                      Seconds timeout) {
  return RankConnector(bootstrap, host, timeout).sockets();
}

}  // namespace polypath::communicator
