#include "bench/measure_gpus.h"

#include <algorithm>
#include <limits>

#include "bench/steadiness.h"
#include "core/median.h"

namespace polypath::bench {
namespace {

// Until nothing is done for the first time any more; that times scatter is no reason to go on.
bool warm_up(Session& session, const Request& request) {
  bool right = true;
  Steadiness steadiness(warm_up_runs(request.settings) + 1);
  const int most = most_warm_up_runs(session, request.settings);
  session.run_driver(request.window);
  for (int i = 0; i < most && !steadiness.reached(); ++i) {
    const bool compare = request.verify && (i == 0 || i == warm_up_runs(request.settings) - 1);
    if (compare) session.fill();
    session.run(request.options, request.window);
    steadiness.note({{}, session.instantiations(), session.results()});
    if (compare) right = right && session.verify();
  }
  return right;
}

bool verified_again(Session& session, const Request& request) {
  session.fill();
  session.run(request.options, request.window);
  return session.verify();
}

void time_runs(Session& session, const Request& request, Result& result) {
  // Short copies are repeated more often: their times scatter more.
  constexpr double kLeastSeconds = 0.05;
  std::vector<double> native, planned;
  double spent = 0;
  for (int i = 0; i < request.repeats || (spent < kLeastSeconds && i < 2000); ++i) {
    native.push_back(session.run_driver(request.window).value);
    // Lanes learn of each other by running: not from the driver's copies just now.
    if (session.results().size() > 1) session.run(request.options, request.window);
    planned.push_back(session.run(request.options, request.window).value);
    spent += native.back() + planned.back();
  }
  result.native_seconds = {median(native)};
  result.seconds = {median(planned)};
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
  Session session(opened.afresh(), operation, bytes);
  Result result;
  result.bytes = bytes;
  result.window = request.window;
  result.source = operation.lanes[0].source;
  result.destination = operation.lanes[0].destination;
  result.copies = static_cast<double>(operation.lanes.size()) * request.window;
  result.verified = warm_up(session, request) && request.verify;
  time_runs(session, request, result);
  result.plan = session.results()[0].plan;
  result.executor = session.results()[0].executor;
  result.predicted = prediction(opened.machine(), operation, request, bytes, session.results());
  if (result.verified) result.verified = verified_again(session, request);
  if (operation.in_turn) halve(result);
  return result;
}

}  // namespace polypath::bench
