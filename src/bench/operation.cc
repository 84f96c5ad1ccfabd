#include "bench/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "plan/joint/patterns.h"

namespace polypath::bench {
namespace {

constexpr Bytes kMostMeasured = 64_GiB;

void require(const Machine& machine, const std::string& operation, PlaceId place, PlaceKind kind,
             const char* role) {
  if (machine.place(place).kind == kind) return;
  fail(ErrorCode::invalid_argument,
       fmt::format("{} cannot be the {} of {}", machine.place(place).name, role, operation),
       fmt::format("it must be a {}", kind == PlaceKind::gpu ? "GPU" : "host memory"),
       "Name another place.");
}

bool is_host(const Machine& machine, PlaceId place) {
  return machine.place(place).kind == PlaceKind::host;
}

bool is_named_pattern(const std::string& name) {
  static const std::vector<std::string> names = pattern_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

Operation pattern_operation(const Machine& machine, const std::string& name) {
  Operation operation{.name = name, .lanes = {}, .together = true};
  for (const JointTransfer& transfer : pattern_of(machine, name, 1_B))
    operation.lanes.push_back({transfer.source, transfer.destination});
  return operation;
}

Operation many_operation(const Machine& machine, PlaceId source, PlaceId destination) {
  check_different(machine, source, destination);
  if (!machine.find_hop(source, destination))
    fail(ErrorCode::invalid_argument,
         fmt::format("no copy leads from {} to {}", machine.place(source).name,
                     machine.place(destination).name),
         "the machine has no hop between them", "Choose another pair.");
  return {.name = "many", .lanes = {{source, destination}}, .together = true};
}

std::vector<Lane> neighbour_pairs(const Machine& machine) {
  const auto gpus = machine.places_of(PlaceKind::gpu);
  std::vector<Lane> lanes;
  for (std::size_t i = 0; i + 1 < gpus.size(); i += 2) lanes.push_back({gpus[i], gpus[i + 1]});
  return lanes;
}

// GPUs before hosts.
std::vector<PlaceId> places_of(const Machine& machine) {
  std::vector<PlaceId> places = machine.places_of(PlaceKind::gpu);
  for (const PlaceId host : machine.places_of(PlaceKind::host)) places.push_back(host);
  return places;
}

bool goes_back(const std::string& operation) {
  return operation == "bibw" || operation == "latency";
}

bool can_run_between(const Machine& machine, const std::string& operation, PlaceId source,
                     PlaceId destination) {
  const PlaceKind from = operation == "h2d" ? PlaceKind::host : PlaceKind::gpu;
  const PlaceKind to = operation == "d2h" ? PlaceKind::host : PlaceKind::gpu;
  return source != destination && machine.place(source).kind == from &&
         machine.place(destination).kind == to && machine.find_hop(source, destination) &&
         (!goes_back(operation) || machine.find_hop(destination, source));
}

std::string native_call(const Machine& machine, const Lane& lane, bool pageable) {
  const HopId hop = machine.find_hop(lane.source, lane.destination).value();
  const HopKind kind = machine.hop(hop).kind;
  if (kind == HopKind::driver_staged) return "cuMemcpyDtoDAsync, no peer access";
  if (kind != HopKind::host) return "cuMemcpyDtoDAsync, peer access";
  return fmt::format("{}, {}",
                     is_host(machine, lane.source) ? "cuMemcpyHtoDAsync" : "cuMemcpyDtoHAsync",
                     pageable ? "malloc memory" : "pinned");
}

}  // namespace

void check_different(const Machine& machine, PlaceId source, PlaceId destination) {
  if (source != destination) return;
  fail(ErrorCode::invalid_argument,
       fmt::format("source and destination are both {}", machine.place(source).name),
       "a copy joins two different places", "Name another place for one of them.");
}

void check_measurable(Bytes bytes) {
  if (bytes.value > 0 && bytes <= kMostMeasured) return;
  fail(ErrorCode::invalid_argument, fmt::format("size {} cannot be measured", format_bytes(bytes)),
       fmt::format("sizes lie between 1 byte and {}", format_bytes(kMostMeasured)), "Correct it.");
}

const std::vector<std::string>& operation_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"put", "bw",  "bibw",     "latency", "mbw",
                                    "h2d", "d2h", "pageable", "many"};
    for (std::string& pattern : pattern_names()) all.push_back(std::move(pattern));
    return all;
  }();
  return names;
}

Operation find_operation(const Machine& machine, const std::string& name, PlaceId source,
                         PlaceId destination) {
  const auto& names = operation_names();
  if (std::find(names.begin(), names.end(), name) == names.end())
    fail(ErrorCode::invalid_argument, fmt::format("operation '{}' is unknown", name),
         "the operations are " + join(names, ", "), "Name one of them.");
  if (is_named_pattern(name)) return pattern_operation(machine, name);
  if (name == "many") return many_operation(machine, source, destination);
  const bool inward = name == "h2d" || (name == "pageable" && is_host(machine, source));
  const bool outward = name == "d2h" || (name == "pageable" && !inward);
  const PlaceKind from = inward ? PlaceKind::host : PlaceKind::gpu;
  const PlaceKind to = outward ? PlaceKind::host : PlaceKind::gpu;
  require(machine, name, source, from, "source");
  require(machine, name, destination, to, "destination");
  if (name == "mbw") return {name, neighbour_pairs(machine), false};
  check_different(machine, source, destination);
  Operation operation{name, {{source, destination}}, name == "latency", name == "pageable"};
  if (goes_back(name)) operation.lanes.push_back({destination, source});
  return operation;
}

std::vector<Operation> operations_of_all_pairs(const Machine& machine, const std::string& name) {
  static const std::vector<std::string> names = {"put", "bw", "bibw", "latency", "h2d", "d2h"};
  if (std::find(names.begin(), names.end(), name) == names.end())
    fail(ErrorCode::invalid_argument, fmt::format("{} cannot be measured of all pairs", name),
         "what can is " + join(names, ", "), "Name one of them, or two places.");
  const std::vector<PlaceId> places = places_of(machine);
  std::vector<Operation> operations;
  for (const PlaceId source : places)
    for (const PlaceId destination : places)
      if (can_run_between(machine, name, source, destination))
        operations.push_back(find_operation(machine, name, source, destination));
  if (operations.empty())
    fail(ErrorCode::invalid_argument, fmt::format("{} has no pair on {}", name, machine.name),
         "no copy leads between such places", "Choose another operation or machine.");
  return operations;
}

std::string native_calls(const Machine& machine, const std::vector<Operation>& operations) {
  std::vector<std::string> calls;
  for (const Operation& operation : operations)
    for (const Lane& lane : operation.lanes) {
      std::string call = native_call(machine, lane, operation.pageable);
      if (std::find(calls.begin(), calls.end(), call) == calls.end())
        calls.push_back(std::move(call));
    }
  return join(calls, "; ");
}

}  // namespace polypath::bench
