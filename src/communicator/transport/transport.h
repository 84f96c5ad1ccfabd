#pragma once
// Bytes from rank to rank between nodes: moves a collective's parts over the network. Memory is
// that of the host.
//
// Messages from one rank to another arrive in the order in which they were started: the k-th that
// is received from it is the k-th that it sent. Both say the message's tag and size, and where they
// differ the ranks do not do the same: an error. Nothing waits but wait(). A call of test() or
// wait() for any message makes progress on all, so that one thread can have many under way.
//
// A rank's end is sent beside the messages, and overtakes those that have not been asked for: that
// it has ended well, or why it gives up. So all ranks know at once, whichever rank they wait for.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "communicator/bootstrap/bootstrap.h"
#include "communicator/bootstrap/nodes.h"
#include "core/error.h"
#include "core/units.h"

namespace polypath::communicator {

class Communicator;

/// A message that was started; counted from 1 on each rank.
using MessageNumber = std::uint64_t;

/// One rank's end. May be used by several threads. After an error of test() or wait() nothing of
/// that rank arrives any more; after an abort nothing at all.
class Transport {
 public:
  Transport(int rank, int size);  ///< errors as check_rank
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  /// Gives up what is under way.
  virtual ~Transport() = default;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  /// Errors name the nodes of other ranks from here on. Before there are messages.
  virtual void name_nodes(const Nodes& nodes);
  /// A rank in errors: "rank 3 on node1"; "rank 3" if nothing is known of nodes.
  [[nodiscard]] std::string describe(int rank) const;

  /// The other rank's part in a message: "rank 3 on node1 to send 8 bytes with tag 4" for one that
  /// this rank is to receive.
  [[nodiscard]] std::string describe_part(int other, bool is_sent, std::uint64_t bytes,
                                          std::uint32_t tag) const;

  /// Starts a message. Its memory is read, or written, until it is over. Errors: invalid_argument
  /// for this rank itself or one that there is not; communicator after an abort.
  MessageNumber send(int to, std::uint32_t tag, std::span<const std::byte> bytes);
  MessageNumber receive(int from, std::uint32_t tag, std::span<std::byte> bytes);

  /// Whether a message is over: sent, so that its memory may change, or received. Error
  /// (communicator) that names the rank if it is gone, or sends something else; or says why all was
  /// aborted.
  virtual bool test(MessageNumber message) = 0;
  /// Waits until it is over. Errors as test(), and communicator after the timeout, which names the
  /// rank.
  void wait(MessageNumber message, Seconds timeout);

  /// Ends all that is under way, here at once, and at the others as if this rank were gone. They
  /// are told why: it is their failure().
  virtual void abort(const std::string& why, ErrorCode code = ErrorCode::communicator) = 0;
  /// This rank needs no other rank any more and has sent all that others need: its end is no
  /// failure.
  virtual void finish() = 0;
  /// The problem that keeps another rank from doing its part: its own message if it has aborted;
  /// that it has ended, a second after its connection was closed without a message, because it may
  /// have done its part. None if no problem is known.
  virtual std::optional<Error> failure() = 0;
  /// True while memory of messages is in use in spite of an abort, by the library that carries
  /// them. May be asked again and again: it makes progress.
  virtual bool is_busy() { return false; }

 private:
  virtual MessageNumber start_sending(int to, std::uint32_t tag,
                                      std::span<const std::byte> bytes) = 0;
  virtual MessageNumber start_receiving(int from, std::uint32_t tag,
                                        std::span<std::byte> bytes) = 0;
  /// Until something may have happened, a moment at most.
  virtual void pause() = 0;
  /// What a message waits for, as of describe_part().
  virtual std::string awaited(MessageNumber message) = 0;
  void check_other(int other) const;

  int rank_;
  int size_;
  std::vector<std::string> nodes_;  ///< by rank; empty: not known
};

/// Over TCP: each rank listens at `host`, the name or address by which the others reach it, and has
/// a connection to each. Waits for all ranks of the bootstrap. Any process that reaches the port
/// and knows the run's name may join: use it where the network is trusted. Errors: communicator,
/// which names those that do not come; invalid_argument for a host that there is not.
std::unique_ptr<Transport> transport_by_tcp(Bootstrap& bootstrap, const std::string& host,
                                            Seconds timeout);

/// The same among the ranks of a communicator, within its timeout. Without a `host` it is found:
/// own_addresses.h says how. Errors also: invalid_argument, at all ranks, which names a rank that
/// cannot be reached by its host, or has no host.
std::unique_ptr<Transport> transport_by_tcp(Communicator& communicator,
                                            const std::string& host = {});

}  // namespace polypath::communicator
