#pragma once
// Runs one rank's parts of collectives' programs, where each rank is a process: as CollectiveRun
// does whole ones. Earlier work in the rank's stream comes before all that touches its memory,
// later work after that.

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collective/rank/forced_end.h"
#include "collective/rank/part_executor.h"
#include "collective/rank/rank_memory.h"
#include "collective/rank/run_ends.h"
#include "core/error.h"
#include "core/settings.h"
#include "model/transfer.h"

namespace polypath::collective {

/// One rank's part of a program, ready to be run again and again.
struct RankProgram {
  RankProgram(RankPart divided, Executor by)
      : part(std::move(divided)), structure(structure_of(part.program)), executor(by) {}

  RankPart part;
  std::string structure;
  Executor executor;  ///< stream or graph
};

/// A rank's part of a program and where all that it touches is. It uses the program.
struct BoundPart {
  const RankProgram* program = nullptr;
  std::vector<Address> addresses;
};

/// Not thread-safe.
class RankRun {
 public:
  /// The participants: rank r is the GPU ranks[r], and this is `rank`.
  struct Group {
    std::vector<PlaceId> ranks;
    int rank = 0;
    AllGather all_gather;
    int flags_per_pair = RankMemorySizes{}.flags_per_pair;
    /// Called when a run cannot be enqueued as a whole, before what is queued of it is ended: other
    /// ranks, which get wrong bytes from it then, are to know of the error before. Returns whether
    /// they were told. Must not throw.
    std::function<bool(const Error&)> tell = [](const Error&) { return false; };
  };

  /// All ranks make theirs at the same time: they exchange their flags.
  RankRun(Driver& driver, const Machine& machine, const Settings& settings, const Group& group);
  RankRun(const RankRun&) = delete;
  RankRun& operator=(const RankRun&) = delete;
  /// Waits for queued work. The other ranks' memory is given back: none of them may be using this
  /// one's any more, as after a barrier of all.
  ~RankRun();

  /// Makes what the program needs that is not there yet, scratch memory of all ranks included. All
  /// ranks do so for the same programs, in the same order, before they run them.
  void prepare(const RankProgram& program);
  /// Loads all kernels that exchange messages, which cannot be done while a stream is captured.
  void prepare_kernels() { parts_.prepare_mail(gpu_); }
  /// Enqueues the part on `stream`, a stream of this rank's GPU, after what is there and after
  /// earlier parts of this object on any stream. All ranks run the same programs in the same order.
  /// `buffers` are the whole program's, each as this process knows it; those that its part does not
  /// touch may be 0. After an error of the driver nothing of this rank's is queued, the contents of
  /// all outputs are not defined, and the other ranks wait until they release() their own;
  /// UnsettledError if what was queued has not ended after 10 s.
  /// Returns the number of the run. In a stream that is being captured it becomes part of the
  /// graph, and has none: 0.
  std::uint64_t run(const RankProgram& program, std::span<const Address> buffers,
                    StreamHandle stream) {
    return run(bind(program, buffers), stream, driver_.is_capturing(stream));
  }
  /// The same for a caller that knows whether the stream is being captured.
  std::uint64_t run(const BoundPart& part, StreamHandle stream, bool captured);
  /// The caller's own work on `stream` counts as a run from here on: later work comes after it, and
  /// synchronize() waits for it. Returns its number.
  std::uint64_t note(StreamHandle stream);
  /// A prepared program with its buffers, to be run as often as they are in use.
  [[nodiscard]] BoundPart bind(const RankProgram& program, std::span<const Address> buffers) const {
    return {&program, memory_.addresses(program.part, buffers)};
  }
  /// True once a run is over, or so many others have been enqueued after it that nothing is known
  /// of it any more. May be called by other threads.
  [[nodiscard]] bool is_done(std::uint64_t run) { return ends_.is_done(run); }
  /// True once a run is over for sure.
  [[nodiscard]] bool is_over(std::uint64_t run) { return ends_.is_over(run); }
  /// True if nothing of its parts is queued.
  [[nodiscard]] bool is_idle() { return !forced_end_.is_unsettled() && ends_.are_all_done(); }
  /// Waits for the run enqueued last.
  void synchronize() { ends_.synchronize(); }
  /// Ends queued work, whether the other ranks do their parts or not: for after a time-out. The
  /// contents of the outputs are not defined, and the group is of no more use: run() is an error.
  /// False if it has not ended after so long. Another thread may call it, while this one is held up
  /// in run(), which then ends what it has enqueued itself.
  bool release(Seconds timeout);

  /// Whether the other ranks were told of the last error of run(); once.
  [[nodiscard]] bool take_told() { return std::exchange(told_, false); }
  [[nodiscard]] const RankMemory& memory() const { return memory_; }

 private:
  std::uint64_t enqueue(const Transfer& transfer, Executor by, bool captured);
  [[nodiscard]] bool drain_by_force(const Transfer& transfer) noexcept;

  Driver& driver_;
  const Machine& machine_;
  PlaceId gpu_;
  RankMemory memory_;
  std::function<bool(const Error&)> tell_;
  bool told_ = false;
  PartExecutor parts_;
  RunEnds ends_;
  ForcedEnd forced_end_;
};

}  // namespace polypath::collective
