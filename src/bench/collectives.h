#pragma once
// Measures collectives of one process: each size by each of the algorithms asked for. On a
// simulated machine the time is that of one run, from the call until the thread knows that it is
// over. On GPUs it is that of one of many that are queued one after another: clocks start with the
// first and stop when all are over, and the median of several such rounds counts.

#include <optional>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "collective/choose/choose.h"
#include "context/open.h"

namespace polypath::bench {

/// Instead of an algorithm's name: whichever is predicted to be over first.
inline constexpr const char* kAutomatic = "auto";

/// A request. Ranks are the machine's first GPUs.
struct CollectiveBench {
  std::string machine;
  CollectiveRequest request;  ///< without ranks and elements
  std::optional<int> ranks;   ///< none: all GPUs
  std::optional<int> nodes;   ///< so many of the machine (machine/nodes.h); none: it as it is
  std::vector<Bytes> sizes;   ///< of messages, see message_bytes
  std::vector<std::string> algorithms = {kAutomatic};
  std::optional<Executor> executor;
  PathChoice paths = PathChoice::any;
  bool any_order = false;  ///< as in CollectiveOptions
  Settings settings;
  bool verify = true;
  /// For the simulated memories of all ranks when bytes move; none: a sixteenth of this computer's.
  std::optional<Bytes> memory_limit;
};

struct CollectiveResult {
  std::string algorithm;      ///< as asked for
  CollectiveDraft draft;      ///< what it was
  CollectiveRequest request;  ///< with its elements
  Seconds seconds;
  Repetitions repetitions = {};  ///< on real GPUs; each the mean of a round of many runs
  bool verified = false;
  Bytes verified_bytes = {};  ///< of the message that was; 0 if none was
};

/// The machine that is asked for, with its nodes. Errors as of choose_machine and machine_of_nodes;
/// (unsupported) for nodes of this computer's own GPUs.
ChosenMachine choose_machine(const CollectiveBench& bench);

/// The request with its ranks, for a message of so many bytes. Errors as of check(), and
/// (invalid_argument) for more ranks than GPUs.
CollectiveRequest collective_request(const Machine& machine, const CollectiveBench& bench,
                                     Bytes message);

/// In the order of sizes and of algorithms. Two runs are not timed; verified means that every
/// element of every rank is within its bound (collective/program/reference.h) after each of two
/// more, and on a simulated machine no race and nothing leaked. Of a simulated message that has no
/// room, a smaller one that goes the same way in the same pieces is.
std::vector<CollectiveResult> measure_collectives(const OpenMachine& opened,
                                                  const CollectiveBench& bench,
                                                  const Progress& progress);

}  // namespace polypath::bench
