// A star of TCP connections: rank 0, the hub, gets what each rank gives and sends all of it back.

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "communicator/bootstrap/bootstrap.h"
#include "communicator/bootstrap/frames.h"
#include "communicator/bootstrap/ranks.h"
#include "communicator/bootstrap/sockets.h"
#include "core/error.h"
#include "core/log.h"
#include "core/text.h"

namespace polypath::communicator {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;  // of one frame
constexpr int kMostAtOnce = 50;                               // milliseconds of one wait
constexpr int kMostUnknown = 64;  // connections that have not said which rank they are
constexpr int kMostLines = 3;     // about strangers; there may be thousands of them
constexpr auto kBetweenNews = std::chrono::milliseconds(200);
constexpr Seconds kForFarewells{1};

std::string text_of_giving_up(int rank, const std::string& why) {
  try {
    fail_for_lack_of(rank, why);
  } catch (const Error& error) {
    return error.what();
  }
}

struct Hello {
  std::int32_t rank;
  std::int32_t size;
};

/// The common part of hub and spokes: how groups of their ranks meet.
class StarBootstrap : public Bootstrap {
 public:
  StarBootstrap(SocketAddress hub, int rank, int size)
      : Bootstrap(rank, size), hub_(std::move(hub)) {}

 protected:
  /// The host by which this rank is known to others; empty: by that of the hub.
  [[nodiscard]] virtual std::string own_host() const = 0;

  const SocketAddress hub_;

 private:
  std::unique_ptr<Bootstrap> subgroup(const Subgroup& group, Seconds timeout) override;
};

class Hub final : public StarBootstrap {
 public:
  Hub(SocketAddress at, int size)
      : StarBootstrap(std::move(at), 0, size), listener_(listen_at(hub_)) {}

  [[nodiscard]] std::string port() const { return own_address(listener_).port; }

 private:
  struct Connection {
    Descriptor socket;
    std::string inbox;
    int rank = -1;  ///< unknown before its hello
    bool is_refused = false;
  };

  std::vector<Blob> exchange(const Blob& mine, Seconds timeout) override;
  [[nodiscard]] std::string own_host() const override { return {}; }
  void tell_given_up(const std::string& why) override {
    say_farewell(text_of_giving_up(rank(), why));
  }

  void wait_for_events(const Deadline& deadline);
  void accept_all();
  void read_from(Connection& connection);
  void take_frames(Connection& connection);
  void take_from_rank(int rank, Frame& frame);
  void give_up_if_gone(const Connection& connection);
  void welcome(Connection& connection, const Frame& frame);
  void refuse(Connection& connection, int rank);
  void tell_of_stranger(const std::string& problem);
  void drop_strangers();
  [[nodiscard]] std::string said_of_missing() const;
  [[nodiscard]] std::vector<int> missing() const;
  void tell_news(const Deadline& deadline);
  void send_to_all(const Frame& frame, const Deadline& deadline);
  void say_farewell(const std::string& text);
  [[noreturn]] void end_for_all(const std::string& text);
  [[noreturn]] void fail_for_all(const std::string& problem, const std::string& why,
                                 const std::string& remedy);

  Descriptor listener_;
  std::vector<Connection> connections_;
  std::map<int, Blob> blobs_;  ///< of this round, by rank
  std::uint64_t round_ = 0;
  int strangers_ = 0;    ///< connections of others, dropped
  int lines_ = 0;        ///< about them
  std::string refused_;  ///< the last rank to come with a number that is not free
  Deadline::Clock::time_point news_at_{};
};

std::vector<Blob> Hub::exchange(const Blob& mine, Seconds timeout) {
  const Deadline deadline(timeout);
  ++round_;
  blobs_ = {{0, mine}};
  news_at_ = Deadline::Clock::now() + kBetweenNews;
  for (Connection& connection : connections_) {
    take_frames(connection);
    give_up_if_gone(connection);
  }
  while (blobs_.size() < static_cast<std::size_t>(size())) {
    if (deadline.has_passed())
      fail_for_all("Not all ranks came together", said_of_missing(),
                   "Find out what became of them, or wait longer.");
    check_waiting();
    wait_for_events(deadline);
    tell_news(deadline);
  }
  std::vector<Blob> all;
  for (auto& [rank, blob] : blobs_) all.push_back(std::move(blob));
  listener_ = Descriptor();  // all ranks are there: later ones are of another job
  // A rank that does not take it in time has gone; a later round reports it missing.
  send_to_all({FrameKind::all, round_, pack(all)}, Deadline(timeout));
  return all;
}

void Hub::wait_for_events(const Deadline& deadline) {
  std::vector<pollfd> asked{{listener_.get(), POLLIN, 0}};  // none is asked for a number below 0
  for (const Connection& connection : connections_)
    asked.push_back({connection.socket.get(), POLLIN, 0});
  if (poll(asked.data(), asked.size(), deadline.milliseconds_left(kMostAtOnce)) <= 0) return;
  for (std::size_t i = 0; i < connections_.size(); ++i)
    if (asked[i + 1].revents != 0) read_from(connections_[i]);
  drop_strangers();
  if (asked[0].revents != 0) accept_all();
}

// The connections that have not named their rank for longest are dropped: a rank names itself at
// once.
void Hub::accept_all() {
  for (;;) {
    Descriptor socket = accept_from(listener_);
    if (!socket.is_open()) return;
    const auto is_unknown = [](const Connection& each) { return each.rank < 0; };
    if (std::count_if(connections_.begin(), connections_.end(), is_unknown) >= kMostUnknown) {
      connections_.erase(std::find_if(connections_.begin(), connections_.end(), is_unknown));
      ++strangers_;
    }
    connections_.push_back({.socket = std::move(socket), .inbox = {}});
  }
}

// Of an unknown sender no more bytes are kept than a rank's first message has.
void Hub::read_from(Connection& connection) {
  for (Received got = Received::some; got == Received::some;) {
    got = receive_into(connection.socket, connection.inbox);
    if (got == Received::gone) connection.socket = Descriptor();
    if (connection.rank < 0) break;
  }
  take_frames(connection);
  give_up_if_gone(connection);
}

void Hub::give_up_if_gone(const Connection& connection) {
  const bool missed =
      connection.rank > 0 && !connection.socket.is_open() && !blobs_.contains(connection.rank);
  if (missed)
    fail_for_all(fmt::format("Rank {} has gone", connection.rank), "its connection is closed",
                 "Find out what became of it.");
}

void Hub::take_frames(Connection& connection) {
  const bool known = connection.rank > 0;
  if (connection.is_refused) return connection.inbox.clear();
  try {
    const std::string from = known ? fmt::format("Rank {}", connection.rank) : "Who connected";
    const std::uint64_t most = known ? kMostBytes : sizeof(Hello);
    std::optional<Frame> frame = take_frame(connection.inbox, most, from);
    if (!frame) return;
    if (!known && frame->kind == FrameKind::hello && frame->bytes.size() == sizeof(Hello)) {
      welcome(connection, *frame);
      return take_frames(connection);
    }
    if (known) return take_from_rank(connection.rank, *frame);
  } catch (const Error& error) {
    if (known || connection.rank > 0) throw;
    tell_of_stranger(error.what());
  }
  connection.socket = Descriptor();  // a port scanner, perhaps
}

void Hub::take_from_rank(int rank, Frame& frame) {
  if (frame.kind == FrameKind::failed) end_for_all(valid_text(frame.bytes));
  if (frame.kind != FrameKind::round || frame.round != round_)
    fail_for_all(fmt::format("Rank {} is not in the same round", rank), "", "");
  blobs_[rank] = std::move(frame.bytes);
}

// A process that takes the number of a present rank may be of another job: the ranks go on without
// it.
void Hub::welcome(Connection& connection, const Frame& frame) {
  Hello hello{};
  std::memcpy(&hello, frame.bytes.data(), sizeof hello);
  const bool is_there =
      std::any_of(connections_.begin(), connections_.end(),
                  [&](const Connection& other) { return other.rank == hello.rank; });
  if (is_there || hello.rank < 1 || (hello.size == size() && hello.rank >= size()))
    return refuse(connection, hello.rank);
  connection.rank = hello.rank;  // it is told, too
  if (hello.size != size())
    fail_for_all("The ranks do not agree on how many they are",
                 fmt::format("rank {} counts {}, rank 0 counts {}", hello.rank, hello.size, size()),
                 "Give every rank the same size.");
}

// The connection stays until the refused process ends it: closing a connection with unread bytes
// loses the bytes sent on it.
void Hub::refuse(Connection& connection, int rank) {
  const std::string why = fmt::format(
      "Rank {} is there twice, or there is none (there are ranks 0 to {}, each once) Give each "
      "process a rank of its own.",
      rank, size() - 1);
  connection.is_refused = true;
  refused_ = fmt::format("; another rank {} was refused", rank);
  tell_of_stranger(why);
  (void)send_all(connection.socket, to_text({FrameKind::failed, round_, why}), Deadline({}));
}

void Hub::tell_of_stranger(const std::string& problem) {
  if (lines_++ < kMostLines) log(LogLevel::warning, problem);
}

std::string Hub::said_of_missing() const {
  const std::string strangers =
      strangers_ > 0 ? fmt::format("; {} came that are no ranks", strangers_) : "";
  return describe_ranks(missing()) + " did not come in time" + strangers + refused_;
}

void Hub::drop_strangers() {
  const auto is_stranger = [](const Connection& connection) {
    return connection.rank < 0 && !connection.socket.is_open();
  };
  strangers_ += static_cast<int>(std::erase_if(connections_, is_stranger));
}

std::vector<int> Hub::missing() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size(); ++rank)
    if (!blobs_.contains(rank)) ranks.push_back(rank);
  return ranks;
}

void Hub::tell_news(const Deadline& deadline) {
  if (Deadline::Clock::now() < news_at_) return;
  news_at_ = Deadline::Clock::now() + kBetweenNews;
  send_to_all({FrameKind::missing, round_, describe_ranks(missing())}, deadline);
}

void Hub::send_to_all(const Frame& frame, const Deadline& deadline) {
  const std::string text = to_text(frame);
  for (const Connection& connection : connections_)
    if (connection.rank > 0 && connection.socket.is_open())
      send_all(connection.socket, text, deadline);
}

void Hub::say_farewell(const std::string& text) {
  send_to_all({FrameKind::failed, round_, text}, Deadline(kForFarewells));
}

void Hub::end_for_all(const std::string& text) {
  say_farewell(text);
  throw Error(ErrorCode::communicator, text);
}

void Hub::fail_for_all(const std::string& problem, const std::string& why,
                       const std::string& remedy) {
  try {
    fail(ErrorCode::communicator, problem, why, remedy);
  } catch (const Error& error) {
    end_for_all(error.what());
  }
}

class Spoke final : public StarBootstrap {
 public:
  Spoke(SocketAddress hub, int rank, int size, Seconds timeout)
      : StarBootstrap(std::move(hub), rank, size) {
    const Deadline deadline(timeout);
    socket_ = connect_to(hub_, deadline);
    const Hello hello{rank, size};
    const std::string bytes(reinterpret_cast<const char*>(&hello), sizeof hello);
    if (!socket_.is_open()) fail_alone("nothing listens there");
    if (!send_all(socket_, to_text({FrameKind::hello, 0, bytes}), deadline))
      fail_alone("its connection is closed");
  }

 private:
  [[noreturn]] void fail_alone(const std::string& why) const {
    fail(ErrorCode::communicator,
         fmt::format("Rank {} cannot reach rank 0 at {}", rank(), hub_.text()), why,
         "Start rank 0, and give every rank its address.");
  }

  std::vector<Blob> exchange(const Blob& mine, Seconds timeout) override {
    const Deadline deadline(timeout);
    if (!send_all(socket_, to_text({FrameKind::round, ++round_, mine}), deadline)) read_farewell();
    std::string missing = "rank 0";
    for (;;) {
      const Frame frame = next_frame(deadline, missing);
      if (frame.kind == FrameKind::missing) missing = valid_text(frame.bytes);
      if (frame.kind == FrameKind::failed)
        throw Error(ErrorCode::communicator, valid_text(frame.bytes));
      if (frame.kind == FrameKind::all && frame.round == round_) return unpack(frame.bytes);
    }
  }

  void tell_given_up(const std::string& why) override {
    const Frame frame{FrameKind::failed, round_, text_of_giving_up(rank(), why)};
    (void)send_all(socket_, to_text(frame), Deadline(kForFarewells));
  }

  Frame next_frame(const Deadline& deadline, const std::string& missing) {
    const std::string from = "Who listens at " + hub_.text();
    for (;;) {
      if (auto frame = take_frame(inbox_, kMostBytes, from)) return std::move(*frame);
      if (deadline.has_passed())
        fail(ErrorCode::communicator, "Not all ranks came together",
             missing + " did not come in time", "Find out what became of them, or wait longer.");
      check_waiting();
      pollfd asked{socket_.get(), POLLIN, 0};
      if (poll(&asked, 1, deadline.milliseconds_left(kMostAtOnce)) <= 0) continue;
      if (receive_into(socket_, inbox_) != Received::gone) continue;
      if (round_ > 1) fail_for_lack_of(0, {});
      fail_alone("its connection is closed");
    }
  }

  // Rank 0 has gone; perhaps it said why.
  void read_farewell() {
    while (receive_into(socket_, inbox_) == Received::some) continue;
  }

  [[nodiscard]] std::string own_host() const override { return own_address(socket_).host; }

  Descriptor socket_;
  std::string inbox_;
  std::uint64_t round_ = 0;
};

// The first of a group listens at a port that is free, and all are told where.
std::unique_ptr<Bootstrap> StarBootstrap::subgroup(const Subgroup& group, Seconds timeout) {
  std::unique_ptr<Hub> mine;
  std::string where;
  if (group.rank == 0) {
    const std::string host = own_host();
    mine = std::make_unique<Hub>(SocketAddress{host.empty() ? hub_.host : host, "0"}, group.size());
    where = SocketAddress{host, mine->port()}.text();
  }
  const std::vector<Blob> addresses = all_gather(where, timeout);
  if (group.color < 0 || mine) return mine;
  const std::string& told = addresses[static_cast<std::size_t>(group.members.front())];
  const SocketAddress hub =
      told.starts_with(':') ? SocketAddress{hub_.host, told.substr(1)} : parse_socket_address(told);
  return std::make_unique<Spoke>(hub, group.rank, group.size(), timeout);
}

}  // namespace

std::unique_ptr<Bootstrap> bootstrap_by_address(const std::string& address, int rank, int size,
                                                Seconds timeout) {
  check_rank(rank, size);
  const SocketAddress at = parse_socket_address(address);
  if (at.port.find_first_not_of('0') == std::string::npos)
    fail(ErrorCode::invalid_argument, fmt::format("'{}' is no address where ranks meet", address),
         "of port 0 the system makes another one that no rank knows", "Give a port that is free.");
  if (rank == 0) return std::make_unique<Hub>(at, size);
  return std::make_unique<Spoke>(at, rank, size, timeout);
}

}  // namespace polypath::communicator
