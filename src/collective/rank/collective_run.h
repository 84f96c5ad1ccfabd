#pragma once
// Runs collectives' programs: bound to the ranks' addresses and one stream, by an executor. Earlier
// work in the stream comes before all ranks' parts, later work after them.

#include <span>
#include <string>
#include <vector>

#include "collective/program/collective_kernels.h"
#include "collective/program/collective_program.h"
#include "collective/program/mail.h"
#include "engine/execute/graph_executor.h"
#include "engine/execute/stream_executor.h"
#include "model/transfer.h"

namespace polypath::collective {

/// The streams and the scratch memory of collectives that run one after another. Not thread-safe.
class CollectiveRun {
 public:
  /// Scratch memory is made when a program first needs it: per hop that pieces go over, kPieceSlots
  /// slots, and kStagingSlots more, as large as with_collective_slots() says.
  CollectiveRun(Driver& driver, const Machine& machine, const Settings& settings);
  CollectiveRun(const CollectiveRun&) = delete;
  CollectiveRun& operator=(const CollectiveRun&) = delete;
  /// Waits for queued work.
  ~CollectiveRun();

  /// Enqueues it on `stream`, which belongs to `gpu`, after what is there and after earlier
  /// programs of this object on any stream. `buffers` are the program's, the ranks' inputs and
  /// then their outputs, or their one memory each. After an error of the driver nothing of it is
  /// queued, and the contents of the outputs are not defined; UnsettledError if that cannot be
  /// waited for.
  void run(const CollectiveProgram& program, std::span<const Address> buffers, StreamHandle stream,
           PlaceId gpu);

  [[nodiscard]] const Statistics& statistics() const { return statistics_; }

 private:
  template <class Runner>
  void run_by(Runner& executor, const Transfer& transfer);
  void wait_for_earlier(StreamHandle stream);

  Driver& driver_;
  Hops hops_;
  Statistics statistics_;
  CollectiveKernels kernels_;
  Mailboxes mailboxes_;
  StreamExecutor streams_;
  GraphExecutor graphs_;
  EventSet ended_;
  EventHandle last_;  ///< stands for the end of the last program
  StreamHandle last_stream_;
  std::uint64_t runs_ = 0;
};

}  // namespace polypath::collective
