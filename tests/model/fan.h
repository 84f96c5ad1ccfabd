#pragma once
// Transfers over a machine that has nothing but paths: gpu0 to gpu1 directly and through each of
// gpu2, gpu3, ...; for programs, whose times do not matter.

#include "model/transfer.h"
#include "support/random.h"

namespace polypath::test {

constexpr int kRelays = 6;

/// Path 0 is direct, path p goes through gpu(p + 1) by hops 2p - 1 and 2p.
inline Path fan_path(int number) {
  return number == 0 ? Path{{0}, {}} : Path{{2 * number - 1}, {2 * number}};
}

inline Machine fan_machine() {
  Machine machine;
  machine.name = "fan";
  for (int gpu = 0; gpu < kRelays + 2; ++gpu)
    machine.places.push_back({"gpu" + std::to_string(gpu), PlaceKind::gpu, "", 0, 1_us});
  const auto join = [&](int source, int destination) {
    machine.hops.push_back({{source}, {destination}, HopKind::peer, 1_us, 1_GBps, {}});
  };
  join(0, 1);
  for (int relay = 2; relay < kRelays + 2; ++relay) join(0, relay), join(relay, 1);
  return machine;
}

inline PathShape carrying(int path, const std::vector<std::uint64_t>& chunks) {
  PathShape shape{fan_path(path), {}};
  for (const std::uint64_t chunk : chunks) shape.chunks.push_back({chunk});
  return shape;
}

/// Distinct paths with random chunks, the direct one among them or not, at any place.
inline TransferShape random_shape(Random& random) {
  TransferShape shape{Executor::stream, {}};
  const int paths = random.integer(1, kRelays);
  const int direct = random.integer(-1, paths - 1);
  for (int p = 0; p < paths; ++p) {
    PathShape part{fan_path(p == direct ? 0 : p + 1), {}};
    const int chunks = part.path.staged() ? random.integer(1, 20) : 1;
    for (int chunk = 0; chunk < chunks; ++chunk) part.chunks.push_back({random.between(1, 9999)});
    shape.paths.push_back(std::move(part));
  }
  return shape;
}

/// Calls `check(shape, slots, program)` for random shapes.
template <class Check>
void for_random_shapes(Check check) {
  const Machine machine = fan_machine();
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const TransferShape shape = random_shape(random);
    const int slots = random.integer(1, 8);
    check(shape, slots, program_of(machine, shape, slots));
  }
}

}  // namespace polypath::test
