#pragma once
// Messages between the ranks of a communicator by MPI's own: a Transport for collectives of several
// nodes.
//
//   any thread:                send() receive() test()    ask for messages, and whether they are
//   over one that may call MPI now: progress()                 starts them, and looks at those
//   under way
//
// Only the program's threads call MPI, and only in its own calls: any level of threads that MPI was
// initialised with will do. So messages move while ranks are in a call, as MPI's own do.
//
// A message is one of MPI's with its tag and size, and its first bytes; the rest follows in another
// one, which is received once the size is known to be the expected one. What a rank says when it
// gives up has a tag of its own, and is looked for besides.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "communicator/transport/transport.h"
#include "mpi/library.h"
#include "mpi/messages_under_way.h"

namespace polypath::mpi {

/// One rank's end. MPI may still read and write the memory of messages after an abort: is_busy().
class MpiTransport final : public Transport {
 public:
  /// `comm` has these ranks and no other messages. Both must outlive it.
  MpiTransport(const Library& library, Handle comm, int rank, int size);
  ~MpiTransport() override;

  bool test(MessageNumber message) override;
  void abort(const std::string& why, ErrorCode code) override;
  /// MPI tells no rank of another one's end, so that a good one need not be said.
  void finish() override {}
  std::optional<Error> failure() override;
  std::string awaited(MessageNumber message) override;

  /// Does nothing while another thread is at it.
  void progress();
  /// True while MPI has memory of messages.
  [[nodiscard]] bool is_busy() override { return busy_ > 0; }
  /// True once this rank has given up, and has told all others.
  [[nodiscard]] bool has_told_others() const { return has_told_; }

 private:
  MessageNumber start_sending(int to, std::uint32_t tag, std::span<const std::byte> bytes) override;
  MessageNumber start_receiving(int from, std::uint32_t tag, std::span<std::byte> bytes) override;
  void pause() override { progress(); }

  MessageNumber ask(AskedMessage message);
  void check_aborted() const;
  void take_asked();
  void note(const MessagesUnderWay::News& news);

  const Library& library_;
  std::mutex calling_;  ///< held by the thread that calls MPI; guards the member below
  std::unique_ptr<MessagesUnderWay> in_mpi_;
  std::atomic<std::size_t> busy_ = 0;
  std::atomic<bool> has_told_ = false;
  std::mutex mutex_;  ///< guards the members below
  std::vector<AskedMessage> asked_;
  std::map<MessageNumber, AskedMessage> under_way_;
  std::map<int, std::string> problems_;  ///< by rank
  MessageNumber started_ = 0;
  std::optional<Error> aborted_, failure_;
};

}  // namespace polypath::mpi
