#pragma once
// The members of this process, each beside its communicator of MPI's as an attribute.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "mpi/member.h"

namespace polypath::mpi {

/// Thread-safe as far as MPI is.
class KnownCommunicators {
 public:
  /// `ends` is told of a member whose communicator the program frees, while it is still there. What
  /// is handed over must outlive it.
  KnownCommunicators(const Library& library, std::function<void(Member&)> ends);
  KnownCommunicators(const KnownCommunicators&) = delete;
  KnownCommunicators& operator=(const KnownCommunicators&) = delete;
  ~KnownCommunicators();

  /// The ranks of this node share the arena. `nodes[r]` is the node of rank r of the job. After MPI
  /// is initialised; once.
  void begin(Arena& arena, std::vector<std::string> nodes);
  /// MPI is about to end: so do all members.
  void end() noexcept;

  /// Null: its calls are MPI's. A communicator is looked at when it is first asked for here, where
  /// all its ranks ask, and waits for them then.
  [[nodiscard]] Member* member_of(Handle comm);
  /// The same without waiting: null, too, if it has not been looked at, which is so at all its
  /// ranks or at none.
  [[nodiscard]] Member* member_if_any(Handle comm);
  /// The same, and quick: false if this thread's latest question was for another communicator.
  [[nodiscard]] bool is_latest(Handle comm, Member*& member) const;

 private:
  struct Seen;  ///< of a communicator
  /// Of a thread's latest question.
  struct Latest {
    const KnownCommunicators* of = nullptr;
    Handle comm = 0;
    std::uint64_t freed = 0;
    Seen* seen = nullptr;
  };
  static thread_local Latest latest;

  [[nodiscard]] Seen* seen_if_any(Handle comm);
  [[nodiscard]] std::unique_ptr<Seen> look_at(Handle comm);
  /// The ranks of a communicator in the job; fewer, if some are not of it.
  [[nodiscard]] std::vector<int> ranks_in_job(Handle comm, int size) const;
  [[nodiscard]] std::unique_ptr<Member> invite(Handle comm, Seat seat);
  [[nodiscard]] std::unique_ptr<Member> invite_nodes(Handle comm, Seat seat,
                                                     const std::vector<std::string>& nodes,
                                                     InternodeTerms terms);
  [[nodiscard]] bool have_all_threads(Handle comm) const;
  [[nodiscard]] std::unique_ptr<Aside> make_aside(Handle comm, Seat seat,
                                                  const std::vector<std::string>& nodes);
  [[nodiscard]] std::unique_ptr<Member> take_any_member();
  void forget(Seen* seen) noexcept;
  static Result forget_attribute(Handle comm, int keyval, void* value, void* self);

  const Library& library_;
  CallStreams streams_;
  std::function<void(Member&)> ends_;
  Arena* arena_ = nullptr;          ///< null: there is no member
  std::vector<std::string> nodes_;  ///< of the job's ranks
  int keyval_ = -1;
  std::atomic<std::uint64_t> freed_{0};  ///< communicators: handles may mean others since
  std::mutex mutex_;                     ///< guards the member below
  std::unordered_set<Seen*> all_;
};

}  // namespace polypath::mpi
