#pragma once
// The messages of MpiTransport in MPI's hands. Functions call MPI unless they say that they do not.

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "communicator/transport/asked_message.h"
#include "core/error.h"
#include "mpi/library.h"

namespace polypath::mpi {

/// One rank's. Not thread-safe. Its memory is MPI's until is_empty().
class MessagesUnderWay {
 public:
  /// What was found out at a time.
  struct News {
    std::vector<MessageNumber> over;
    std::vector<std::pair<int, std::string>> problems;  ///< with a rank
    std::vector<Error> failures;                        ///< that other ranks have told
  };

  MessagesUnderWay(const Library& library, Handle comm, int rank, int size);
  MessagesUnderWay(const MessagesUnderWay&) = delete;
  MessagesUnderWay& operator=(const MessagesUnderWay&) = delete;
  ~MessagesUnderWay() = default;

  void start(const AskedMessage& message);
  /// Memory of messages that MPI has not yet is not touched from here on. Does not call MPI.
  void let_go();
  /// Tells all other ranks why this one gives up, once.
  void say(const Error& why);
  [[nodiscard]] bool has_said() const { return has_spoken_ && words_.empty(); }
  void look(News& news);
  [[nodiscard]] bool is_empty() const { return sent_.empty() && received_count_ == 0; }
  /// How many have memory of those that asked for them. After let_go() MPI alone uses it.
  [[nodiscard]] std::size_t count() const;

 private:
  struct Header {
    std::uint32_t tag = 0;
    std::uint32_t unused = 0;
    std::uint64_t bytes = 0;
  };
  static constexpr std::size_t kFirstBytes = 4080;
  struct Packet {
    Header header;
    std::array<std::byte, kFirstBytes> bytes;
  };
  struct Words {
    std::uint32_t code = 0;
    std::array<char, 1020> text{};  ///< ends with a zero
  };
  /// A request of MPI's, which writes into it while it is under way.
  struct Request {
    Handle handle = 0;
    bool is_open = false;
    bool has_failed = false;
  };
  struct Message {
    AskedMessage asked;
    std::unique_ptr<Packet> packet = std::make_unique<Packet>();
    Request first = {}, rest = {};
    bool is_read = false;  ///< received: the packet has come and was looked at
  };
  struct Spoken {
    std::unique_ptr<Words> words;
    Request request = {};
  };

  [[nodiscard]] bool is_over(Request& request, int other);
  void send(const void* memory, std::size_t bytes, int to, int tag, Request& request);
  void receive(void* memory, std::size_t bytes, int from, int tag, Request& request);
  void note(int other, Result result);
  void look_at_sent(News& news);
  void look_at_received(std::list<Message>& messages, News& news);
  /// False: no later message of its rank can be over.
  [[nodiscard]] bool read(Message& message);
  void listen(News& news) const;

  const Library& library_;
  Handle comm_;
  int rank_, size_;
  std::list<Message> sent_;
  std::vector<std::list<Message>> received_;  ///< by rank
  std::size_t received_count_ = 0;
  bool has_spoken_ = false, has_let_go_ = false;
  std::list<Spoken> words_;
  std::vector<std::pair<int, std::string>> problems_;  ///< not told yet
  unsigned looks_ = 0;
};

}  // namespace polypath::mpi
