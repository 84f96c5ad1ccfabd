#include "bench/measure_gpus.h"

#include <algorithm>
#include <limits>

#include "bench/steadiness.h"

namespace polypath::bench {
namespace {

// Until nothing is done for the first time any more; that times scatter is no reason to go on. All
// of it is compared, for what is done for the first time is done in another way.
bool warm_up(OperationRun& operation_run, const Request& request) {
  bool right = true;
  Steadiness steadiness(warm_up_runs(request.settings) + 1);
  const int most = most_warm_up_runs(operation_run, request.settings);
  operation_run.run_driver(request.window);
  for (int i = 0; i < most && !steadiness.reached(); ++i) {
    if (request.verify) operation_run.fill();
    operation_run.run(request.options, request.window);
    steadiness.note({{}, operation_run.instantiations(), operation_run.results()});
    if (request.verify) right = operation_run.verify() && right;
  }
  return right;
}

// The bytes that the last of the timed runs has left, and those of one run more.
bool verified_again(OperationRun& operation_run, const Request& request) {
  if (!operation_run.verify()) return false;
  operation_run.fill();
  operation_run.run(request.options, request.window);
  return operation_run.verify();
}

void time_runs(OperationRun& operation_run, const Request& request, Result& result) {
  // Short copies are repeated more often: their times scatter more.
  constexpr double kLeastSeconds = 0.05;
  Repetitions& runs = result.repetitions;
  Seconds spent;
  for (int i = 0; i < request.repeats || (spent.value < kLeastSeconds && i < 2000); ++i) {
    runs.native_times.push_back(operation_run.run_driver(request.window));
    // Lanes learn of each other by running: not from the driver's copies just now.
    if (operation_run.results().size() > 1) operation_run.run(request.options, request.window);
    runs.times.push_back(operation_run.run(request.options, request.window));
    spent += runs.native_times.back() + runs.times.back();
  }
  result.native_seconds = {spread_of(in_seconds(runs.native_times)).median};
  result.seconds = {spread_of(in_seconds(runs.times)).median};
}

Seconds prediction(const Machine& machine, const Operation& operation, const Request& request,
                   Bytes bytes, const std::vector<CopyResult>& lanes) {
  if (operation.pageable) return {std::numeric_limits<double>::quiet_NaN()};
  return predict_operation(machine, operation, bytes, lanes, request.window,
                           request.settings.staging_slots);
}

}  // namespace

Result measure_on_gpus(const OpenMachine& opened, const Operation& operation,
                       const Request& request, Bytes bytes) {
  OperationRun operation_run(opened.reopen(), operation, bytes);
  Result result;
  result.bytes = bytes;
  result.window = request.window;
  result.source = operation.lanes[0].source;
  result.destination = operation.lanes[0].destination;
  result.pieces = operation.pieces;
  result.copies = copies_in(operation, request.window);
  result.verified = warm_up(operation_run, request) && request.verify;
  time_runs(operation_run, request, result);
  result.plan = operation_run.results()[0].plan;
  result.executor = operation_run.results()[0].executor;
  result.by_windows = operation_run.results()[0].means == Method::windows;
  result.predicted =
      prediction(opened.machine(), operation, request, bytes, operation_run.results());
  if (result.verified) result.verified = verified_again(operation_run, request);
  if (request.verify) result.verified_bytes = bytes;
  if (operation.in_turn) halve(result);
  return result;
}

}  // namespace polypath::bench
