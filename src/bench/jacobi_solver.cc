#include "bench/jacobi_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "bench/jacobi_program.h"
#include "bench/jacobi_streams.h"
#include "core/error.h"

namespace polypath::bench {
namespace {

constexpr std::array kPaths = {
    std::pair(JacobiPaths::automatic, "auto"), std::pair(JacobiPaths::direct, "direct"),
    std::pair(JacobiPaths::two, "two"), std::pair(JacobiPaths::three, "three")};
constexpr std::array kWays = {
    std::pair(JacobiWay::native, "native"), std::pair(JacobiWay::stream, "stream"),
    std::pair(JacobiWay::graph, "graph"), std::pair(JacobiWay::program, "program")};

template <class Names>
auto parse(const Names& names, const std::string& name, const char* what) {
  std::string all;
  for (const auto& [value, known] : names) {
    if (name == known) return value;
    all += (all.empty() ? "" : ", ") + std::string(known);
  }
  fail(ErrorCode::invalid_argument, fmt::format("{} '{}' is unknown", what, name),
       fmt::format("there are {}", all), "Name one of them.");
}

template <class Names, class Value>
const char* name_in(const Names& names, Value value) {
  for (const auto& [known, name] : names)
    if (known == value) return name;
  return "";
}

// The GPUs that a halo is staged on: of the ring those next to its ends, as long as there are any
// that are not its ends; behind them those of the machine that the grid leaves alone.
std::vector<PlaceId> relays_of(const Machine& machine, const JacobiGrid& grid, const Halo& halo,
                               bool up) {
  const int before = up ? grid.below(halo.from) : grid.above(halo.from);
  const int behind = up ? grid.above(halo.to) : grid.below(halo.to);
  std::vector<PlaceId> relays;
  const auto add = [&](PlaceId place) {
    const bool is_end = place == grid.gpus[static_cast<std::size_t>(halo.from)] ||
                        place == grid.gpus[static_cast<std::size_t>(halo.to)];
    if (!is_end && std::find(relays.begin(), relays.end(), place) == relays.end())
      relays.push_back(place);
  };
  add(grid.gpus[static_cast<std::size_t>(before)]);
  add(grid.gpus[static_cast<std::size_t>(behind)]);
  for (const PlaceId gpu : machine.places_of(PlaceKind::gpu)) add(gpu);
  return relays;
}

}  // namespace

JacobiPaths parse_jacobi_paths(const std::string& name) { return parse(kPaths, name, "choice"); }
const char* name_of(JacobiPaths paths) { return name_in(kPaths, paths); }
JacobiWay parse_jacobi_way(const std::string& name) { return parse(kWays, name, "executor"); }
const char* name_of(JacobiWay way) { return name_in(kWays, way); }

std::vector<std::string> paths_of(const Machine& machine, const JacobiGrid& grid, const Halo& halo,
                                  bool up, JacobiPaths paths) {
  if (paths == JacobiPaths::automatic) return {};
  std::vector<std::string> names = {"direct"};
  const std::size_t staged = paths == JacobiPaths::direct ? 0 : paths == JacobiPaths::two ? 1 : 2;
  const std::vector<PlaceId> relays = relays_of(machine, grid, halo, up);
  if (relays.size() < staged)
    fail(ErrorCode::invalid_argument, fmt::format("{} paths cannot be had", staged + 1),
         fmt::format("{} has {} GPUs that a halo can be staged on", machine.name, relays.size()),
         "Ask for fewer paths.");
  for (std::size_t i = 0; i < staged; ++i) names.push_back(machine.place(relays[i]).name);
  return names;
}

std::unique_ptr<JacobiSolver> make_jacobi_solver(const OpenMachine& opened, const JacobiGrid& grid,
                                                 const JacobiMemory& memory, const JacobiHow& how) {
  if (how.way == JacobiWay::program) return make_jacobi_program(opened, grid, memory, how);
  return make_jacobi_streams(opened, grid, memory, how);
}

}  // namespace polypath::bench
