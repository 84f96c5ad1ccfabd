#pragma once
// Python's view of collectives: one rank's end, which keeps its context alive.

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/python/buffer.h"
#include "api/python/own_messages.h"
#include "api/python/rank_health.h"
#include "collective/rank/collectives.h"

namespace polypath::python {

/// Explicit placement of a rank; empty fields are discovered.
struct RankPlace {
  std::string gpu;   ///< "gpu0"; empty: the one of its number among the ranks of its node
  std::string node;  ///< name of its node; empty: discovered
  std::string host;  ///< by which other nodes reach it; empty: found
};

/// Where ranks that are threads of one process find one another.
class ThreadGroup {
 public:
  /// Error (invalid_argument) for fewer than one.
  explicit ThreadGroup(int size);
  [[nodiscard]] int size() const { return static_cast<int>(ends_.size()); }
  /// Error (invalid_argument) for a rank that there is not, or that has come already.
  std::unique_ptr<Bootstrap> enter(int rank);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Bootstrap>> ends_;
};

/// The class CollectiveRank of the Python package. Calls of several threads take turns.
class CollectiveRank {
 public:
  /// Waits for all ranks, each time for as long as they have to meet. Null messages: between nodes
  /// there are those of TCP.
  CollectiveRank(ContextPointer context, RankPlace place, std::unique_ptr<Bootstrap> bootstrap,
                 Seconds timeout, std::shared_ptr<OwnMessages> messages = nullptr);
  CollectiveRank(const CollectiveRank&) = delete;
  CollectiveRank& operator=(const CollectiveRank&) = delete;
  ~CollectiveRank();

  void run(PersistentCall& call, nanobind::handle stream);
  /// The same in a stream of this rank's GPU.
  void run(PersistentCall& call, StreamHandle stream);
  /// That of a handle of CUDA's.
  [[nodiscard]] StreamHandle stream(std::uintptr_t handle) const {
    return context_->foreign_stream(place_, handle);
  }
  [[nodiscard]] StreamHandle stream(nanobind::handle stream) const {
    return handle_of(context_, place_, stream);
  }
  void prepare(const CollectiveCall& call);
  /// The choice made for a prepared call, as a dictionary.
  nanobind::dict chosen(const CollectiveCall& call);
  void choose_from(const std::vector<std::string>& algorithms, const std::string& executor);
  void barrier();
  /// Of the work in streams.
  void barrier(nanobind::handle stream);
  /// As barrier(), and until no message between nodes is under way.
  void await_messages();
  /// Waits for what is queued. Error for a problem that any rank has found.
  void synchronize();
  /// The same for a stream of a call that waits for its own end.
  void finish_call(Stream& stream);
  /// Waits for what is queued and for all other ranks to end theirs. Error as synchronize(), unless
  /// a call has told the program.
  void close();
  /// Ends this rank without waiting for others: their calls fail and say why.
  void abandon(const std::string& why);
  /// The destructor does not wait for other ranks: this may be one of several ranks of the process,
  /// which one thread ends one after another.
  void end_beside() { ends_beside_ = true; }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] const std::string& gpu() const { return gpu_; }
  /// What carries messages between nodes: "tcp", "mpi" or "torch"; empty on one.
  [[nodiscard]] const std::string& carrier() const { return carrier_; }

 private:
  friend class Closing;

  /// Error (invalid_argument) after close(). The mutex is held.
  [[nodiscard]] Collectives& ranks() const;
  [[nodiscard]] bool is_elsewhere() const;
  [[nodiscard]] std::unique_lock<std::timed_mutex> turn();
  template <class Action>
  auto in_turn(Action action);
  void note_use(nanobind::handle stream);
  void end();

  ContextPointer context_;
  int process_;  ///< that made it: a forked child must not touch what is the parent's
  std::timed_mutex mutex_;
  std::string carrier_;
  std::unique_ptr<Collectives> ranks_;
  std::shared_ptr<RankHealth> health_ = std::make_shared<RankHealth>();
  bool ends_beside_ = false;
  // As they were, after close() too.
  std::string gpu_;
  PlaceId place_;  ///< of the GPU
  int rank_;
  int size_;
  int nodes_;
};

}  // namespace polypath::python
