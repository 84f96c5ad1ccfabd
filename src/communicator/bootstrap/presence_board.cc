#include "communicator/bootstrap/presence_board.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "communicator/bootstrap/frames.h"
#include "core/error.h"
#include "core/ignore_errors.h"
#include "core/signals.h"
#include "core/text.h"

namespace polypath::communicator {
namespace {

constexpr std::uint64_t kMostOfRank = 64 << 20;              // bytes of one frame of a rank
constexpr std::uint64_t kMostOfStranger = 1 << 12;           // before a rank has announced itself
constexpr std::uint64_t kMostRead = std::uint64_t{1} << 30;  // what all say
constexpr std::size_t kMostUnannounced = 64;                 // connections without an announcement
constexpr Seconds kUntilSent{2};
// A board that answers does so at once; ranks that meet a dead one go on without.
constexpr Seconds kUntilAnnounced{2};
constexpr int kMostOfAWait = 50;  // milliseconds of one wait
constexpr std::chrono::milliseconds kBetweenVainCalls{50};
constexpr const char* kUnknown = "A process that connected to a board";
constexpr std::size_t kAnnounced = 4;  // pieces: token, key, rank, and what it says

Descriptor listen_anywhere() {
  Descriptor listener;
  if (ignore_errors([&] { listener = listen_at({"::", "0"}); })) return listener;
  return listen_at({"0.0.0.0", "0"});
}

}  // namespace

PresenceBoard::PresenceBoard(std::uint64_t token)
    : token_(token), listener_(listen_anywhere()), wake_(eventfd(0, EFD_CLOEXEC)) {
  const ThreadSignals blocked;
  thread_ = std::jthread([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) work();
  });
}

PresenceBoard::~PresenceBoard() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);
}

void PresenceBoard::work() {
  ignore_errors([&] {
    const bool is_called = wait_for_events();
    // The process may have no descriptor left, or have closed ours: the call stays.
    if (is_called && !accept_all()) std::this_thread::sleep_for(kBetweenVainCalls);
    for (const auto& connection : connections_) read_from(*connection);
    forget_gone();
  });
}

// True if another process wants a connection.
bool PresenceBoard::wait_for_events() {
  std::vector<pollfd> asked{{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  for (const auto& connection : connections_)
    asked.push_back({connection->socket.get(), POLLIN, 0});
  (void)poll(asked.data(), asked.size(), -1);
  return asked[1].revents != 0;
}

// False if there was none.
bool PresenceBoard::accept_all() {
  for (bool any = false;; any = true) {
    Descriptor socket = accept_from(listener_);
    if (!socket.is_open()) return any;
    const auto is_unknown = [](const auto& each) { return each->key.empty(); };
    if (static_cast<std::size_t>(std::ranges::count_if(connections_, is_unknown)) >=
        kMostUnannounced)
      connections_.erase(std::ranges::find_if(connections_, is_unknown));
    connections_.push_back(std::make_unique<Connection>(Connection{.socket = std::move(socket)}));
  }
}

void PresenceBoard::read_from(Connection& connection) {
  Received got = Received::some;
  while (got == Received::some) {
    got = receive_into(connection.socket, connection.inbox);
    if (connection.key.empty()) break;
  }
  bool is_rank = false;
  ignore_errors([&] { is_rank = take_frames(connection); });
  if (!is_rank || got == Received::gone) connection.socket = Descriptor();
}

// False for bytes that no rank sends.
bool PresenceBoard::take_frames(Connection& connection) {
  for (;;) {
    const bool is_known = !connection.key.empty();
    const auto frame =
        take_frame(connection.inbox, is_known ? kMostOfRank : kMostOfStranger, kUnknown);
    if (!frame) return true;
    if (!is_known) {
      if (frame->kind != FrameKind::hello || !note(connection, frame->bytes)) return false;
    } else if (frame->kind == FrameKind::round && frame->round == 0) {
      answer(connection, static_cast<std::size_t>(parse_number(frame->bytes).value_or(0)));
    } else if (frame->kind == FrameKind::round) {
      connection.round = frame->round, connection.given = frame->bytes;
      end_round(connection.key, frame->round);
    } else {
      return false;
    }
  }
}

bool PresenceBoard::note(Connection& connection, const std::string& announcement) {
  const std::vector<std::string> pieces = unpack(announcement);
  if (pieces.size() != kAnnounced || pieces[0] != std::to_string(token_) || pieces[1].empty())
    return false;
  const auto rank = parse_number(pieces[2]);
  if (!rank || *rank < 0 || !said_[pieces[1]].emplace(*rank, pieces[3]).second) return false;
  connection.key = pieces[1], connection.rank = *rank;
  return send_all(connection.socket, to_text({FrameKind::all, 0, {}}), Deadline(kUntilSent));
}

// Nothing while ranks are missing: then one of them does not come any more.
void PresenceBoard::answer(const Connection& connection, std::size_t ranks) {
  const Said& said = said_[connection.key];
  std::vector<std::string> all;
  for (const auto& [rank, text] : said) all.push_back(text);
  const std::string told = all.size() == ranks ? pack(all) : std::string();
  (void)send_all(connection.socket, to_text({FrameKind::all, 0, told}), Deadline(kUntilSent));
}

void PresenceBoard::end_round(const std::string& key, std::uint64_t round) {
  std::map<int, const Connection*> given;
  for (const auto& each : connections_)
    if (each->key == key && each->given && each->round == round) given[each->rank] = each.get();
  if (given.size() != said_[key].size()) return;
  std::vector<Blob> all;
  for (const auto& [rank, connection] : given) all.push_back(*connection->given);
  const std::string text = to_text({FrameKind::all, round, pack(all)});
  for (const auto& [rank, connection] : given)
    (void)send_all(connection->socket, text, Deadline(kUntilSent));
}

// What ranks have said stays until the last of them has gone.
void PresenceBoard::forget_gone() {
  std::erase_if(connections_, [](const auto& each) { return !each->socket.is_open(); });
  std::erase_if(said_, [&](const auto& of) {
    return std::ranges::none_of(connections_,
                                [&](const auto& each) { return each->key == of.first; });
  });
}

BoardPresence::BoardPresence(const BoardAddress& board, const std::string& key, int rank,
                             const std::string& said) {
  const bool is_there = ignore_errors([&] {
    const Deadline deadline(kUntilAnnounced);
    socket_ = connect_to(board.at, deadline);
    const Frame hello{FrameKind::hello, 0,
                      pack({std::to_string(board.token), key, std::to_string(rank), said})};
    if (!socket_.is_open() || !send_all(socket_, to_text(hello), deadline)) socket_ = Descriptor();
    if (socket_.is_open() && !await_answer(0, deadline)) socket_ = Descriptor();
  });
  if (!is_there) socket_ = Descriptor();
}

std::optional<std::vector<std::string>> BoardPresence::said_by_all(int ranks) {
  if (!socket_.is_open()) return std::nullopt;
  std::vector<std::string> all;
  ignore_errors([&] {
    const auto said = exchange(0, std::to_string(ranks), kUntilAnnounced);
    if (said) all = unpack(*said);
  });
  if (all.size() != static_cast<std::size_t>(ranks)) return std::nullopt;
  return all;
}

std::optional<std::string> BoardPresence::exchange(std::uint64_t round, const Blob& mine,
                                                   Seconds timeout) {
  const Deadline deadline(timeout);
  if (!send_all(socket_, to_text({FrameKind::round, round, mine}), deadline)) return std::nullopt;
  return await_answer(round, deadline);
}

std::optional<std::string> BoardPresence::await_answer(std::uint64_t round,
                                                       const Deadline& deadline) {
  while (!deadline.has_passed()) {
    if (auto frame = take_frame(inbox_, kMostRead, "The process at the board's address")) {
      if (frame->kind != FrameKind::all || frame->round != round) return std::nullopt;
      return std::move(frame->bytes);
    }
    pollfd asked{socket_.get(), POLLIN, 0};
    if (poll(&asked, 1, deadline.milliseconds_left(kMostOfAWait)) <= 0) continue;
    if (receive_into(socket_, inbox_) == Received::gone) return std::nullopt;
  }
  return std::nullopt;
}

std::unique_ptr<Bootstrap> bootstrap_by_board(std::shared_ptr<BoardPresence> presence, int rank,
                                              int size) {
  auto all_gather = [presence = std::move(presence), rank, size, round = std::uint64_t{0}](
                        const Blob& mine, Seconds timeout) mutable {
    std::vector<Blob> blobs(static_cast<std::size_t>(size));
    const auto all = presence->exchange(++round, pack({std::to_string(rank), mine}), timeout);
    if (!all)
      fail(ErrorCode::communicator, "Not all ranks came together",
           "the board on which they have announced themselves does not answer",
           "Find out which has ended.");
    for (const std::string& each : unpack(*all)) {
      std::vector<std::string> parts = unpack(each);
      blobs.at(static_cast<std::size_t>(parse_number(parts.at(0)).value_or(-1))) =
          std::move(parts.at(1));
    }
    return blobs;
  };
  return bootstrap_by_functions({.all_gather = std::move(all_gather), .split = {}}, rank, size);
}

}  // namespace polypath::communicator
