#include "bench/measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/available_memory.h"
#include "bench/measure_gpus.h"
#include "bench/pieces.h"
#include "bench/steadiness.h"
#include "core/error.h"
#include "core/text.h"

namespace polypath::bench {
namespace {

// The time of the operation once it repeats; the last one's where it does not.
Seconds steady_time(OperationRun& operation_run, const Request& request) {
  Steadiness steadiness(warm_up_runs(request.settings));
  const int most = most_warm_up_runs(operation_run, request.settings);
  Seconds time;
  for (int i = 0; i < most && !steadiness.reached(); ++i) {
    time = operation_run.run(request.options, request.window);
    steadiness.note({time, operation_run.instantiations(), operation_run.results()});
  }
  return time;
}

TransferShape shape_of(const Machine& machine, const Lane& lane, Bytes bytes,
                       const CopyResult& result) {
  if (result.plan) {
    TransferShape shape = result.plan->shape;
    shape.executor = result.executor;
    return shape;
  }
  const auto hop = machine.find_hop(lane.source, lane.destination);
  if (!hop)
    fail(ErrorCode::invalid_argument,
         fmt::format("no copy leads from {} to {}", machine.place(lane.source).name,
                     machine.place(lane.destination).name),
         "the machine has no hop between them", "Choose another pair.");
  return {Executor::native, {{Path{*hop, {}}, {bytes}}}};
}

Machine with_free_calls(Machine machine) {
  machine.costs = {};
  return machine;
}

// When each call begins if one thread makes them one after another.
std::vector<Seconds> starts_of(const Predictor& predictor, const std::vector<TransferShape>& shapes,
                               int slots) {
  std::vector<Seconds> starts(shapes.size());
  for (std::size_t i = 1; i < shapes.size(); ++i)
    starts[i] = starts[i - 1] + predictor.call_time(shapes[i - 1], slots);
  return starts;
}

// Of transfers that run beside each other.
std::vector<Prediction> predict_together(const Predictor& predictor, const Operation& operation,
                                         const std::vector<TransferShape>& shapes, int slots) {
  if (!operation.together) return predictor.predict_well(shapes, slots);
  return predictor.replay(shapes, slots, starts_of(predictor, shapes, slots));
}

// Verification touches every byte of every buffer: sources and destinations.
Bytes that_fits(const Operation& operation, Bytes bytes, Bytes limit) {
  const double buffers = 2 * copies_in(operation, 1);
  while (bytes > 1_B && buffers * bytes.real() > limit.real()) bytes = {(bytes.value + 1) / 2};
  return bytes;
}

bool verified_run(const OpenMachine& opened, const Operation& operation, const Request& request,
                  Bytes bytes) {
  OperationRun operation_run(opened.reopen({.flip = opened.simulation().flip}), operation, bytes);
  for (int i = 0; i < warm_up_runs(request.settings); ++i) {
    operation_run.fill();
    operation_run.run(request.options, i == 0 ? request.window : 1);
    if (!operation_run.verify()) return false;
    // Large messages: once as planned first, and once as a graph if that is what repeats become.
    if (bytes * operation.pieces > 64_MiB &&
        operation_run.results()[0].executor != Executor::stream)
      break;
  }
  return operation_run.platform().violations().empty();
}

}  // namespace

std::vector<Operation> operations_of(const Machine& machine, const Request& request) {
  if (request.source == kAllPairs && request.destination == kAllPairs)
    return operations_of_all_pairs(machine, request.operation);
  const auto [source, destination] = machine.find_ends(request.source, request.destination);
  Operation operation = find_operation(machine, request.operation, source, destination);
  if (operation.name == "many")
    operation.pieces = static_cast<std::size_t>(request.pieces.value_or(kPiecesUnlessSaid));
  return {operation};
}

double copies_in(const Operation& operation, int window) {
  return static_cast<double>(operation.lanes.size() * operation.pieces) * window;
}

void halve(Result& result) {
  for (Seconds* time : {&result.seconds, &result.native_seconds, &result.predicted})
    *time = *time * 0.5;
  result.repetitions.scale(0.5);
  result.copies /= 2;
}

int warm_up_runs(const Settings& settings) { return settings.graph_after.value_or(0) + 1; }

int most_warm_up_runs(const OperationRun& operation_run, const Settings& settings) {
  constexpr int kUntilLoadsAreKnown = 10;
  const int lanes = static_cast<int>(operation_run.results().size());
  return kUntilLoadsAreKnown + (lanes + 1) * warm_up_runs(settings);
}

Seconds predict_operation(const Machine& machine, const Operation& operation, Bytes bytes,
                          const std::vector<CopyResult>& lanes, int window, int slots) {
  if (operation.pieces > 1) return predict_pieces(machine, operation, bytes, lanes.front(), window);
  std::vector<TransferShape> shapes;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane)
    shapes.push_back(shape_of(machine, operation.lanes[lane], bytes, lanes[lane]));
  const Machine as_seen = by_threads(operation) ? held_up(machine) : machine;
  const Predictor predictor(as_seen);
  if (operation.in_turn) {
    Seconds sum;
    for (const TransferShape& shape : shapes) sum += predictor.predict(shape, slots).time;
    return sum * window;
  }
  const auto together = [&](const Predictor& used) {
    Seconds last;
    for (const Prediction& each : predict_together(used, operation, shapes, slots))
      last = std::max(last, each.time);
    return last;
  };
  if (window == 1) return together(predictor);
  Seconds calls;
  for (const TransferShape& shape : shapes) {
    const Seconds call = predictor.predict(shape, slots).call;
    calls = operation.together ? calls + call : std::max(calls, call);
  }
  const Machine free_calls = with_free_calls(machine);
  const Seconds further = std::max(together(Predictor(free_calls)), calls);
  return together(predictor) + further * (window - 1);
}

Result measure(const OpenMachine& opened, const Operation& operation, const Request& request,
               Bytes bytes) {
  if (!opened.simulated()) return measure_on_gpus(opened, operation, request, bytes);
  if (operation.pageable)
    fail(ErrorCode::invalid_argument, "operation 'pageable' cannot be simulated",
         "its time is that of this computer's own memory copies", "Run it where there are GPUs.");
  OperationRun operation_run(opened.reopen(sim::kTimingOnly), operation, bytes);
  PlanOptions native;
  native.executor = Executor::native;
  Result result;
  result.bytes = bytes;
  result.window = request.window;
  result.source = operation.lanes[0].source;
  result.destination = operation.lanes[0].destination;
  result.native_seconds = operation_run.run(native, request.window);
  result.seconds = steady_time(operation_run, request);
  result.plan = operation_run.results()[0].plan;
  result.executor = operation_run.results()[0].executor;
  result.predicted = predict_operation(opened.machine(), operation, bytes, operation_run.results(),
                                       request.window, request.settings.staging_slots);
  result.pieces = operation.pieces;
  result.copies = copies_in(operation, request.window);
  if (operation.in_turn) halve(result);
  if (!request.verify) return result;
  const Bytes limit = request.memory_limit.value_or(Bytes{free_memory().value / 2});
  result.verified_bytes = that_fits(operation, bytes, limit);
  result.verified = verified_run(opened, operation, request, result.verified_bytes);
  return result;
}

std::vector<Result> measure_all(const OpenMachine& opened, const Request& request,
                                const Progress& progress) {
  if (request.window < 1 || request.window > 1024)
    fail(ErrorCode::invalid_argument, fmt::format("window {} cannot be used", request.window),
         "it is the number of copies in flight", "Give a window from 1 to 1024.");
  check_pieces(request);
  const std::vector<Operation> operations = operations_of(opened.machine(), request);
  // All of them before the first one is measured: the large ones come last, after a minute.
  for (const Bytes bytes : request.sizes) check_measurable(bytes);
  const int all = static_cast<int>(request.sizes.size() * operations.size());
  std::vector<Result> results;
  for (const Bytes bytes : request.sizes)
    for (const Operation& operation : operations) {
      results.push_back(measure(opened, operation, request, bytes));
      if (progress) progress(static_cast<int>(results.size()), all);
    }
  return results;
}

}  // namespace polypath::bench
