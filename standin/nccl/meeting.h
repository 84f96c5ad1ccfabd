#pragma once
// Memory that the ranks of a communicator of the stand-in NCCL share, processes or threads.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace polypath::standin {

inline constexpr int kMostRanks = 8;
inline constexpr std::size_t kSlot = std::size_t{1} << 20;         ///< bytes of a rank's piece
inline constexpr std::size_t kMessageSlot = std::size_t{1} << 18;  ///< of a piece of a message

/// A file in memory, mapped. All of it is zero at first.
class Rendezvous {
 public:
  struct Rank {
    alignas(64) std::atomic<std::uint32_t> has_come;
    std::uint32_t has_sent, has_received;  ///< by streams: the number of its piece
    int color, key;                        ///< of a split
    std::atomic<int> process;
    std::atomic<bool> has_ended, has_aborted;
    std::atomic<std::uint64_t> host;  ///< as NCCL_HOSTID says
  };
  /// The messages from one rank to another.
  struct Lane {
    alignas(64) std::uint32_t has_sent, has_received;  ///< by streams: the number of its piece
    alignas(4096) std::array<std::byte, kMessageSlot> piece;
  };
  struct Contents {
    std::array<Rank, kMostRanks> ranks;
    std::array<std::array<Lane, kMostRanks>, kMostRanks> lanes;  ///< by sender and receiver
    alignas(4096) std::array<std::array<std::byte, kSlot>, kMostRanks> sent, results;
  };

  /// The same for all that give this name. Null contents if there can be none.
  explicit Rendezvous(const std::string& name);
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
  ~Rendezvous();

  [[nodiscard]] Contents* contents() const { return contents_; }
  /// Waits until so many have come so often as this one. False if they do not within a minute.
  [[nodiscard]] bool meet(int rank, int ranks);
  /// Lets all waits of streams for the ranks go on, for now.
  void release() const;
  /// No other rank is to come: nothing stays behind, however these end.
  void take_name_away() const;

 private:
  std::string file_;
  Contents* contents_ = nullptr;
  bool is_registered_ = false;
};

}  // namespace polypath::standin
