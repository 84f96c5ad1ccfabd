#include "plan/single/planner_request.h"

#include <fmt/format.h>

#include "core/error.h"

namespace polypath::plan {

std::vector<Path> joining_paths(const Machine& machine, PlaceId source, PlaceId destination) {
  if (source == destination)
    fail(ErrorCode::invalid_argument,
         fmt::format("source and destination are both {}", machine.place(source).name),
         "a transfer joins two different places", "Name another place for one of them.");
  std::vector<Path> paths = find_paths(machine, source, destination);
  if (paths.empty() || paths.front().staged())
    fail(ErrorCode::invalid_argument,
         fmt::format("no copy leads from {} to {}", machine.place(source).name,
                     machine.place(destination).name),
         fmt::format("machine '{}' has no hop between them", machine.name),
         "Choose places that its 'info' lists as joined.");
  return paths;
}

void check_size(Bytes bytes) {
  if (bytes.value == 0)
    fail(ErrorCode::invalid_argument, "size is 0", "there is nothing to plan",
         "Give a size of at least one byte.");
  if (bytes > kMostPlanned)
    fail(ErrorCode::invalid_argument, fmt::format("size {} cannot be planned", bytes.value),
         fmt::format("no memory holds more than {} bytes", kMostPlanned.value), "Correct it.");
}

bool allows(std::optional<Executor> choice, Executor executor) {
  return !choice || (choice == Executor::graph) == (executor == Executor::graph);
}

bool may_split(const PlannerRequest& request) {
  if (request.options->executor == Executor::native) return false;
  if (request.concurrent->size() > kMostConcurrent) return false;
  return request.options->forced() || request.bytes >= request.smallest;
}

Executor executor_of_more(const PlannerRequest& request) {
  return request.options->executor == Executor::graph ? Executor::graph : Executor::stream;
}

}  // namespace polypath::plan
