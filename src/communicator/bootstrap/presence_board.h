#pragma once
// Which ranks of another library's communicator are under Polypath on any computer, found without
// waiting for those that are not.
//
// One process has a board; its address is passed on with something that all ranks get anyway. Each
// rank announces itself before it calls the real library, which returns at no rank before all have
// called it. So what a rank reads after that all read. Ranks that are complete may then exchange
// bytes by the board.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "communicator/bootstrap/bootstrap.h"
#include "communicator/bootstrap/sockets.h"

namespace polypath::communicator {

/// Where a board is. Processes that do not know the token are turned away.
struct BoardAddress {
  SocketAddress at;
  std::uint64_t token = 0;
};

/// Has a thread of its own, and listens at all addresses of the computer.
class PresenceBoard {
 public:
  /// Error (communicator) if this process cannot listen.
  explicit PresenceBoard(std::uint64_t token);
  PresenceBoard(const PresenceBoard&) = delete;
  PresenceBoard& operator=(const PresenceBoard&) = delete;
  ~PresenceBoard();

  [[nodiscard]] std::string port() const { return own_address(listener_).port; }

 private:
  struct Connection {
    Descriptor socket;
    std::string inbox = {};
    std::string key = {};  ///< empty before its announcement
    int rank = -1;
    std::uint64_t round = 0;  ///< of the bytes below
    std::optional<Blob> given = {};
  };
  /// By rank.
  using Said = std::map<int, std::string>;

  void work();
  [[nodiscard]] bool wait_for_events();
  [[nodiscard]] bool accept_all();
  void read_from(Connection& connection);
  [[nodiscard]] bool take_frames(Connection& connection);
  [[nodiscard]] bool note(Connection& connection, const std::string& announcement);
  void answer(const Connection& connection, std::size_t ranks);
  void end_round(const std::string& key, std::uint64_t round);
  void forget_gone();

  std::uint64_t token_;
  Descriptor listener_, wake_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::map<std::string, Said> said_;  ///< by key
  std::jthread thread_;               ///< the last member: it uses the others
};

/// One rank's announcement on a board, and then its end of exchanges.
class BoardPresence {
 public:
  /// `key` is the communicator's, the same at all its ranks and no others; `rank` a number that no
  /// other rank has. `said` is for all of them. A rank that does not reach the board is absent.
  BoardPresence(const BoardAddress& board, const std::string& key, int rank,
                const std::string& said);
  BoardPresence(const BoardPresence&) = delete;
  BoardPresence& operator=(const BoardPresence&) = delete;

  /// After the real library has returned: what all ranks have said, in the order of their numbers;
  /// none if not so many have come.
  [[nodiscard]] std::optional<std::vector<std::string>> said_by_all(int ranks);
  /// Bytes of all ranks, once they are complete, in the order of their numbers; none if they do not
  /// come in time. Rounds count from 1.
  [[nodiscard]] std::optional<std::string> exchange(std::uint64_t round, const Blob& mine,
                                                    Seconds timeout);

 private:
  [[nodiscard]] std::optional<std::string> await_answer(std::uint64_t round,
                                                        const Deadline& deadline);

  Descriptor socket_;  ///< closed: it is absent
  std::string inbox_;
};

/// A bootstrap of ranks that are complete; `rank` may be another number than on the board.
std::unique_ptr<Bootstrap> bootstrap_by_board(std::shared_ptr<BoardPresence> presence, int rank,
                                              int size);

}  // namespace polypath::communicator
