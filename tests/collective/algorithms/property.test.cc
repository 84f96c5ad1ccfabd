// All calls, on all machines, with any tuning: right, the same bits everywhere, no race, nothing
// leaked.

#include <gmock/gmock.h>

#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "support/random.h"

namespace polypath::test::property_test {
namespace {

constexpr int kCases = 150;

CollectiveRequest random_request(Random& random, const Machine& machine, Collective collective) {
  std::vector<PlaceId> gpus = machine.places_of(PlaceKind::gpu);
  for (std::size_t i = gpus.size(); i > 1; --i) std::swap(gpus[i - 1], gpus[random.index(i)]);
  gpus.resize(static_cast<std::size_t>(random.integer(2, static_cast<int>(gpus.size()))));
  CollectiveRequest request{.collective = collective, .ranks = gpus};
  request.elements = random.between(1, random.chance(50) ? 64 : 40'000);
  request.reduction = random_reduction(random);
  request.root = random.integer(0, request.size() - 1);
  request.in_place = random.chance(50);
  return request;
}

TEST(AnyCollective, IsRight) {
  Random random(20261123);
  for (int number = 0; number < kCases && !testing::Test::HasFailure(); ++number) {
    const std::uint64_t seed = random.between(1, 1000);
    SCOPED_TRACE(testing::Message() << "case " << number << ", synthetic:" << seed);
    const Machine machine = synthetic_machine(seed);
    const Algorithm& algorithm = random.pick(algorithms());
    const CollectiveRequest request =
        random_request(random, machine, random.pick(algorithm.collectives));
    expect_right(machine, algorithm, request,
                 {.piece = {random.between(1, 32'768)},
                  .radix = random.integer(2, 8),
                  .several_paths = random.chance(15),
                  .by_hosts = random.chance(40),
                  .in_phases = random.chance(40),
                  .in_turn = random.chance(30)},
                 {random.between(0, 16)});
  }
}

}  // namespace
}  // namespace polypath::test::property_test
