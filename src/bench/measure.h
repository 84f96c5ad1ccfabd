#pragma once
// Measures one operation at one size beside the native copy.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/operation_run.h"
#include "bench/repetitions.h"

namespace polypath::bench {

/// Called with (done, total); may throw to give up.
using Progress = std::function<void(int, int)>;

struct Request {
  std::string machine;
  std::string operation = "put";
  std::string source;
  std::string destination;
  std::vector<Bytes> sizes;
  int window = 1;
  std::optional<int> pieces = std::nullopt;  ///< of the operation `many`
  PlanOptions options;
  Settings settings;
  bool verify = true;
  /// For the simulated memories when bytes move; none: half of what this computer has free.
  std::optional<Bytes> memory_limit = std::nullopt;
  int repeats = 20;  ///< timed runs on real GPUs; simulated time repeats exactly
};

struct Result {
  Bytes bytes;
  int window = 1;
  PlaceId source;
  PlaceId destination;
  PlanPointer plan;  ///< of the first lane; null if it needed none
  Executor executor = Executor::native;
  bool by_windows = false;  ///< pageable memory, through pinned windows
  Seconds seconds;          ///< one window of the operation; the median of the repetitions
  Seconds native_seconds;   ///< the same with native copies
  Seconds predicted;        ///< not a number without a plan of all: pageable, large pieces
  std::size_t pieces = 1;   ///< of each lane
  double copies = 1;  ///< copies of `bytes` that `seconds` stands for: lanes × pieces × window
  bool verified = false;
  Bytes verified_bytes = {};     ///< of the copies that were; 0 if none was
  Repetitions repetitions = {};  ///< on real GPUs
};

/// Measures `request` at one size, on the machine afresh. Timing runs move no bytes; then the same
/// operation runs again with bytes and race checks, which is what `verified` means: every byte
/// compared, no violation, nothing leaked; with the largest half, quarter, … of the size for whose
/// buffers there is room. Simulated time repeats exactly, so the median is any of the runs.
Result measure(const OpenMachine& opened, const Operation& operation, const Request& request,
               Bytes bytes);

/// The measurements of a request at each size: one operation, or one for each pair of places.
std::vector<Operation> operations_of(const Machine& machine, const Request& request);

/// All sizes of the request, in order; of each, all pairs where they are asked for.
std::vector<Result> measure_all(const OpenMachine& opened, const Request& request,
                                const Progress& progress);

/// There and back counts as twice one way.
void halve(Result& result);

/// Copies of the size measured that one window of the operation makes.
double copies_in(const Operation& operation, int window);

/// Runs before the measured one: plans are made, rings allocated, graphs instantiated.
int warm_up_runs(const Settings& settings);

/// Runs after which an operation run is taken as it is: lanes may settle one after another, and
/// each makes a graph once it has.
int most_warm_up_runs(const OperationRun& operation_run, const Settings& settings);

/// Predicted time of the operation: `first` is the time of a window of one with these plans (per
/// lane; null = native) and each further copy of the window adds what it takes without issue and
/// synchronisation, or the time of its calls if that is longer.
Seconds predict_operation(const Machine& machine, const Operation& operation, Bytes bytes,
                          const std::vector<CopyResult>& lanes, int window, int slots);

}  // namespace polypath::bench
