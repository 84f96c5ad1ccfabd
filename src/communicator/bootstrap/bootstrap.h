#pragma once
// How ranks first find one another: rounds in which each gives bytes and gets those of all.
//
//   round k:  rank r gives b(k, r)  →  every rank gets b(k, 0), b(k, 1), …, b(k, n−1)
//
// All ranks make the same rounds in the same order. This is for a few rounds when a communicator is
// made or divided: it waits, and it is slow.

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/interruption.h"
#include "core/units.h"

namespace polypath::communicator {

/// Bytes of any kind.
using Blob = std::string;

/// Of the ranks of a bootstrap, those that go on together.
struct Subgroup {
  int color = 0;             ///< negative: this rank joins no group
  std::vector<int> members;  ///< their ranks so far, in the order of the new ones; none if so
  int rank = -1;             ///< the new one of this rank
  std::uint64_t number = 0;  ///< of the division, the same at every rank

  [[nodiscard]] int size() const { return static_cast<int>(members.size()); }
};

/// Error (invalid_argument) unless 0 ≤ rank < size.
void check_rank(int rank, int size);

/// One rank's end. Not thread-safe. After an error nothing can be exchanged any more.
class Bootstrap {
 public:
  Bootstrap(int rank, int size);  ///< errors as check_rank
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;
  virtual ~Bootstrap() = default;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  /// Called repeatedly by the thread that waits in a round; an exception ends the wait. Functions
  /// of others (BootstrapFunctions) do not call it.
  void while_waiting(std::function<void()> check) { check_ = std::move(check); }

  /// One round. Waits for all ranks. Error (communicator) names those that have not come by then,
  /// as far as that can be known.
  std::vector<Blob> all_gather(const Blob& mine, Seconds timeout);

  /// This rank exchanges nothing any more: at ranks that wait for it, now or in a later round, the
  /// error (communicator) says why. The destructor does the same without a reason, which is an
  /// error a second later: others may know more. Functions of others (BootstrapFunctions) cannot
  /// tell.
  void give_up(const std::string& why) noexcept;

  /// One end for each group of ranks that give the same color, in the order of their keys, then of
  /// their ranks, as MPI_Comm_split has it; null for a negative color. All ranks must call it.
  std::unique_ptr<Bootstrap> split(int color, int key, Seconds timeout);

 protected:
  void check_waiting() const {
    if (check_) check_();
    check_interruption();
  }
  /// For waits: that rank's part is missing, and it has gone.
  void note_gone(int rank, const std::string& why);
  virtual std::vector<Blob> exchange(const Blob& mine, Seconds timeout) = 0;
  /// Once at most.
  virtual void tell_given_up(const std::string& /*why*/) {}
  /// Called at all ranks, also at those that join no group. The result is ignored there.
  virtual std::unique_ptr<Bootstrap> subgroup(const Subgroup& group, Seconds timeout) = 0;

 private:
  int rank_;
  int size_;
  std::function<void()> check_;
  bool broken_ = false;
  bool has_given_up_ = false;
  std::optional<std::chrono::steady_clock::time_point> without_;  ///< since when a rank has gone
  std::uint64_t divisions_ = 0;
};

/// Error (communicator): a round cannot end, because that rank has given up; without a reason it
/// has gone.
[[noreturn]] void fail_for_lack_of(int rank, const std::string& why);

/// What `work` returns. Its error is told to the ranks that wait in rounds for this one.
template <class Work>
auto or_give_up(Bootstrap& bootstrap, Work work) {
  try {
    return work();
  } catch (const std::exception& error) {
    bootstrap.give_up(error.what());
    throw;
  }
}

/// All ranks learn of what one of them cannot do before any of them relies on it; no text is no
/// problem. Waits for all ranks. Error (communicator) at each: the problem of the first rank that
/// has one.
void check_at_all_ranks(Bootstrap& bootstrap, const std::string& problem, Seconds timeout);
/// The same of problems that all ranks have.
void throw_first_problem(const std::vector<Blob>& problems);

/// All ranks of one process, each to be used by a thread of its own.
std::vector<std::unique_ptr<Bootstrap>> bootstrap_among_threads(int size);

/// By files in `folder`, on a file system that all ranks share; it is made if it is not there.
/// Files of earlier runs are never believed. Two communicators that are made at the same time need
/// two folders. Waits until all ranks are there. Errors: communicator, which names the missing;
/// invalid_argument for a folder that cannot be used.
std::unique_ptr<Bootstrap> bootstrap_by_file(const std::string& folder, int rank, int size,
                                             Seconds timeout);

/// By TCP: `address` is HOST:PORT, [IPV6]:PORT; rank 0 listens there, the others try until it does.
/// Any process that knows the address may join: use it where the network is trusted. Errors:
/// communicator; invalid_argument for a malformed address.
std::unique_ptr<Bootstrap> bootstrap_by_address(const std::string& address, int rank, int size,
                                                Seconds timeout);

/// A bootstrap by functions of another library, such as MPI or PyTorch.
struct BootstrapFunctions {
  /// One round.
  std::function<std::vector<Blob>(const Blob& mine, Seconds timeout)> all_gather;
  /// The same for the members of a group; called at all ranks. Without it communicators of this
  /// bootstrap cannot be divided.
  std::function<BootstrapFunctions(const Subgroup&)> split;
};
std::unique_ptr<Bootstrap> bootstrap_by_functions(BootstrapFunctions functions, int rank, int size);

}  // namespace polypath::communicator
