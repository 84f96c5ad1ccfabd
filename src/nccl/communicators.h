#pragma once
// The program's communicators, and a Member beside each that is served: one whose ranks are all
// under Polypath and wait for it, on this computer or as many on each of several.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "nccl/announcement.h"
#include "nccl/counts.h"
#include "nccl/known_choices.h"
#include "nccl/member.h"

namespace polypath::nccl {

/// Machine and driver for ranks of this process, once they are needed. Errors of an opening:
/// nothing is served.
using Open = std::function<const Surroundings&(GpusOf which)>;

/// What stands beside a communicator of the program.
struct KnownCommunicator {
  std::string key = {};  ///< the same at all its ranks
  bool waits = true;     ///< the real library's calls return when they are done
  int size = 0;
  std::shared_ptr<Member> member = nullptr;   ///< null: it is NCCL's alone
  Fate fate = Fate::communicator;             ///< of its calls, where there is no member
  std::optional<RankPresence> presence = {};  ///< files that are left to be removed
  std::optional<BoardAddress> board = {};     ///< where its ranks and those of its parts meet
};

/// A communicator that a group makes is there when the group ends.
struct MadeCommunicator {
  Comm* comm;
  KnownCommunicator known;
  Announcement announced;
};

/// A key of that text, of the same form for all.
std::string communicator_key(std::string_view text);

/// Thread-safe.
class Communicators {
 public:
  /// `real` must outlive it.
  Communicators(const Functions& real, Open open, Bytes most_measured)
      : real_(real), open_(std::move(open)), choices_(real, most_measured) {}
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  /// Null of one that is not known.
  [[nodiscard]] std::shared_ptr<const KnownCommunicator> find(Comm comm) const;
  /// What the next split of one makes, before it is made; without a key if that is not known.
  [[nodiscard]] KnownCommunicator child_of(Comm comm, int color, std::optional<bool> waits);
  /// The real library has made them. Their ranks wait for each other.
  void serve(std::vector<MadeCommunicator> made);
  /// The program ends one, which is not known any more. Returns its member, for the caller to end;
  /// null if it has none.
  [[nodiscard]] std::shared_ptr<Member> forget(Comm comm) noexcept;
  /// The same of one that the program revokes: it is NCCL's from here on.
  [[nodiscard]] std::shared_ptr<Member> take_member(Comm comm) noexcept;

  /// One is not served, or a call of it is NCCL's after all.
  void complain(const std::string& why) noexcept;
  /// Why the latest one that is not served is not; empty if all are.
  [[nodiscard]] std::string why_not() const;

 private:
  /// What a rank has of its own before the ranks have one machine.
  struct Seat {
    const Surroundings* around = nullptr;
    int device = 0;  ///< CUDA's number of its GPU
    std::string problem = {};

    [[nodiscard]] PlaceId gpu() const {
      return around->visible.at(static_cast<std::size_t>(device));
    }
  };

  void enter(Comm comm, KnownCommunicator known);
  void serve(const MadeCommunicator& made) noexcept;
  [[nodiscard]] std::shared_ptr<Member> join(Comm comm, int rank, int size,
                                             const RankPresence& presence);
  [[nodiscard]] std::shared_ptr<Member> join_nodes(Comm comm, int rank, int size,
                                                   const Announcement& announced);
  [[nodiscard]] Seat agreed_seat(Comm comm, Bootstrap& in_node, Bootstrap& all) const;
  [[nodiscard]] Seat seat_of(Comm comm) const;
  void begin(Comm comm, Member& member);

  const Functions& real_;
  Open open_;
  KnownChoices choices_;
  mutable std::shared_mutex mutex_;  ///< guards the members below
  std::unordered_map<Comm, std::shared_ptr<KnownCommunicator>> known_;
  std::unordered_map<Comm, std::uint64_t> splits_;  ///< that a communicator has had
  std::string why_not_;
  std::atomic<std::uint64_t> changes_{0};  ///< of known_
};

}  // namespace polypath::nccl
