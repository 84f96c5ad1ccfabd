#pragma once
// Ranks that act together: one process per GPU, or one thread per GPU of a process.
//
// Before an operation each rank says what it is about to do (begin), and at once learns if another
// rank of its node does something else. Afterwards it may have the operation watched: if it is not
// over in time, or a rank has ended, the communicator is aborted: an error that names the missing
// ranks, at every rank of the node, at its next call. Functions here wait for other ranks only if
// they say so.

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "communicator/bootstrap/bootstrap.h"
#include "communicator/bootstrap/nodes.h"
#include "communicator/node/call_record.h"
#include "communicator/node/control_block.h"
#include "core/error.h"
#include "core/settings.h"
#include "core/units.h"

namespace polypath::communicator {

class CommunicatorState;
class Watcher;

struct CommunicatorOptions {
  /// The name of this rank's node; empty: this_node(). To try several nodes on one computer.
  std::string node;
  /// For a watched operation, and for functions that wait for other ranks.
  Seconds timeout{Settings{}.communicator_timeout};
};
/// Those of the settings.
CommunicatorOptions communicator_options(const Settings& settings);

/// One rank's end. begin, watch, check and abort may be called by several threads; the others by
/// one at a time. In a forked child its functions do nothing.
class Communicator {
 public:
  /// Must not wait, or take a lock that is held where this class is called. An exception ends the
  /// communicator, with the same text.
  using Question = std::function<bool()>;
  /// The same; must not throw.
  using Callback = std::function<void()>;
  /// Why nothing more can be done together; none if nothing is known to be wrong. Must not throw.
  using Doubt = std::function<std::optional<Error>()>;

  /// Waits for all ranks. Errors of the bootstrap; communicator if a rank of a node cannot share
  /// memory with the others, out_of_memory if there is none.
  explicit Communicator(std::unique_ptr<Bootstrap> bootstrap, CommunicatorOptions options = {});
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  /// As close().
  ~Communicator();

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  [[nodiscard]] const Nodes& nodes() const;
  /// A name that no other communicator has, the same at every rank.
  [[nodiscard]] const std::string& id() const;
  [[nodiscard]] Seconds timeout() const { return options_.timeout; }
  /// Another one from the next wait on: ranks may meet within another time than they work in.
  void set_timeout(Seconds timeout);

  /// This rank's next call: its number, the same at every rank. Errors: invalid_argument if another
  /// rank of the node has called something else, here and then at all of them; that of an abort.
  CallNumber begin(const CallRecord& call);

  /// Looks at a call of begin() from a thread of its own, until `is_done` says yes.
  void watch(CallNumber call, Question is_done);
  /// Asked as well whenever a call is looked at, until close(): for problems of ranks on other
  /// nodes.
  void doubt(Doubt doubt);

  /// Called once when the communicator is aborted, to release what waits: by the thread that finds
  /// out; at once if it is aborted already. Must not close the communicator.
  void on_abort(Callback callback);
  /// Ends it for all ranks of the node, in words of this rank, which then are the error of all
  /// calls. Without effect if it has ended.
  void abort(const std::string& why, ErrorCode code = ErrorCode::communicator);
  /// The same in words that name this rank.
  void give_up(const std::string& why) noexcept;
  /// Error if the communicator is aborted: for callers that wait.
  void check();

  /// The node's agreement ring and handle board, as this rank sees them. There is one of each, and
  /// it must not outlive the communicator.
  [[nodiscard]] AgreementRing agreements() const;
  [[nodiscard]] HandleBoard handles() const;

  /// Returns the bytes of every rank, at every rank: for handles and the like. Waits for all ranks.
  /// `as` names the call in the error if another rank makes a different one.
  std::vector<Blob> all_gather(const Blob& mine, const CallRecord& as = {.operation = "exchange"});
  /// This rank exchanges nothing any more: all_gather() and split() are errors (invalid_argument)
  /// from here on. Nothing of the bootstrap stays behind, however the ranks end.
  void end_exchanges() { bootstrap_.reset(); }
  /// Those of the same color in the order of their keys, then of their ranks, as MPI_Comm_split has
  /// it; null for a negative color. The new one has the timeout of this one, or the one that is
  /// given. Waits for all ranks, which must all call it.
  std::unique_ptr<Communicator> split(int color, int key, std::optional<Seconds> timeout = {});

  /// Nothing that this rank has queued for its calls may still run, and it queues no more.
  void note_settled();
  /// Waits until that is so at all ranks of the node that have not ended: noted, or all their calls
  /// are over after an abort. False if it is not after so long.
  [[nodiscard]] bool await_settled(Seconds timeout);

  /// This rank makes no more calls. Does not wait for other ranks, only for a question or a
  /// callback in progress.
  void close() noexcept;

 private:
  void meet();
  [[nodiscard]] Bootstrap& bootstrap();
  template <class Call>
  auto together(const CallRecord& record, Call call);

  int size_;
  std::unique_ptr<Bootstrap> bootstrap_;  ///< null: nothing is exchanged any more
  CommunicatorOptions options_;
  std::shared_ptr<Watcher> watcher_;
  std::shared_ptr<CommunicatorState> state_;
};

/// What `work` returns. Its error is then one of all ranks of the node.
template <class Work>
auto or_abort(Communicator& communicator, const Work& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    communicator.give_up(error.what());
    throw;
  }
}

/// As check_at_all_ranks() of a bootstrap (bootstrap.h).
void check_at_all_ranks(Communicator& communicator, const std::string& problem);

}  // namespace polypath::communicator
