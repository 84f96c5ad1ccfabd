#pragma once
// A communicator of the stand-in NCCL, and the work of its streams.
//
// A call goes in pieces. For each piece, every rank's stream copies the bytes that it sends into
// shared memory, signals that, waits for the bytes that it needs of the others, has the result made
// there, copies it into the output, and signals that. The host does not wait, so that one thread
// may have several ranks; ranks whose calls differ wait for each other for ever, or get wrong
// results, as with the real one. Messages between two ranks have a stream for each rank and
// direction, so that those of a group go at the same time.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "standin/nccl/meeting.h"

namespace polypath::standin {

enum class Movement {
  all_reduce,
  reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  all_to_all,
  send,
  receive
};

inline bool is_message(Movement movement) {
  return movement == Movement::send || movement == Movement::receive;
}

struct NcclCall {
  Movement movement = Movement::all_reduce;
  unsigned long long from = 0, to = 0;
  std::size_t count = 0;
  int type = 0, operation = 0, other = 0;
  void* stream = nullptr;
};

class NcclCommunicator {
 public:
  NcclCommunicator(const std::string& name, int rank, int size);
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;
  /// Waits for its enqueued work, for a minute at most.
  ~NcclCommunicator();

  /// Waits for all ranks. False if they do not come.
  [[nodiscard]] bool begin();
  /// Enqueues it; the driver's result.
  int run(const NcclCall& call);
  /// The two halves of a message, which cannot be captured: later work in its stream comes after it
  /// from the second one on.
  int begin_message(const NcclCall& call);
  int end_message(const NcclCall& call);
  /// Work already in one of the streams comes before later work in any of them.
  int tie(const std::set<void*>& streams);
  /// Ends its enqueued work, done or not. It takes no calls any more.
  void revoke();
  /// The same, for good.
  void abort();
  [[nodiscard]] bool is_revoked() const { return is_revoked_; }
  /// True if a rank of another host is gone, or has aborted: the network would say so.
  [[nodiscard]] bool has_lost_rank() const;
  /// The name, rank and size of this rank's part; no name without one.
  struct Part {
    std::string name;
    int rank = 0, size = 0;
  };
  [[nodiscard]] Part split(int color, int key);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int device() const { return device_; }

 private:
  /// Makes a rank's result of the pieces that all have sent.
  using Make = std::function<void(Rendezvous::Contents&, std::byte* result)>;
  /// This rank's end of the messages to or from another one.
  struct Lane {
    void *stream = nullptr, *event = nullptr;
    std::uint32_t pieces = 0;
  };

  [[nodiscard]] Make sum(int type, std::size_t bytes) const;
  [[nodiscard]] static Make from(int rank, std::size_t bytes);
  Lane& lane_of(const NcclCall& call);
  int pass_piece(const NcclCall& call, std::size_t at, std::size_t bytes);
  [[nodiscard]] bool is_done();
  [[nodiscard]] bool are_streams_done() const;
  int note_end(void* stream);
  int run_here(const NcclCall& call);
  int run_piece(const NcclCall& call, std::size_t at, std::size_t part, std::size_t bytes);
  int exchange(void* stream, unsigned long long from, std::size_t sent, const Make& make,
               unsigned long long to, std::size_t received);
  [[nodiscard]] Rendezvous::Rank& of(int rank) const {
    return meeting_.contents()->ranks[static_cast<std::size_t>(rank)];
  }

  std::string name_;
  Rendezvous meeting_;
  int rank_, size_;
  int device_ = 0;
  void *context_ = nullptr, *tied_ = nullptr;
  std::array<std::array<Lane, kMostRanks>, 2> lanes_;  ///< sent and received, by rank
  std::uint32_t pieces_ = 0;
  int splits_ = 0;
  bool is_revoked_ = false;
  std::map<void*, void*> ends_;  ///< an event for each stream: the last call there
};

}  // namespace polypath::standin
