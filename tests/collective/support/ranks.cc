#include "collective/support/ranks.h"

#include <algorithm>
#include <utility>

#include "collective/program/tuning.h"
#include "support/layers.h"

namespace polypath::test {

Settings collective_settings() {
  Settings settings;
  settings.min_message = 0_B;
  settings.min_chunk = 1_KiB;
  settings.min_gain = 0;
  return settings;
}

Settings settings_with_slots(const Machine& machine, Bytes bytes) {
  constexpr std::uint64_t kAlignment = 4096;
  Settings settings = collective_settings();
  const std::size_t gpus = machine.places_of(PlaceKind::gpu).size();
  const std::uint64_t slots = (kPieceSlots + kStagingSlots) * (std::max<std::size_t>(gpus, 2) - 1);
  settings.collective_scratch = {(bytes.value + kAlignment - 1) / kAlignment * kAlignment * slots};
  return settings;
}

std::vector<PlaceId> first_gpus(const Machine& machine, int count) {
  std::vector<PlaceId> gpus = machine.places_of(PlaceKind::gpu);
  gpus.resize(static_cast<std::size_t>(count));
  return gpus;
}

Reduction random_reduction(Random& random) {
  Reduction reduction{.type = random.pick(all_element_types())};
  do reduction.operation = random.pick(all_reduce_operators());
  while (!can_reduce(reduction.operation, reduction.type));
  return reduction;
}

Ranks::Ranks(const Machine& machine, CollectiveRequest request, Bytes misaligned,
             const Settings& settings)
    : request_(std::move(request)),
      driver_(machine),
      buffers_(std::make_unique<RankBuffers>(driver_, request_, misaligned)) {
  runner_ = std::make_unique<CollectiveRun>(driver_, driver_.machine(), settings);
  stream_ = driver_.create_stream(gpu());
}

Ranks::~Ranks() { (void)close(); }

Seconds Ranks::run(const CollectiveProgram& program) {
  buffers_->fill();
  const Seconds start = driver_.now();
  runner_->run(program, buffers(), stream_, gpu());
  driver_.synchronize(stream_);
  return driver_.now() - start;
}

std::vector<std::string> Ranks::close() {
  if (closed_) return {};
  closed_ = true;
  runner_.reset();
  driver_.destroy_stream(stream_);
  buffers_.reset();
  std::vector<std::string> wrong = driver_.violations();
  for (std::string& leak : driver_.leaks()) wrong.push_back("leaked: " + leak);
  return wrong;
}

void expect_right(const Machine& machine, const Algorithm& algorithm,
                  const CollectiveRequest& request, const Tuning& tuning, Bytes misaligned) {
  if (!algorithm.does(machine, request)) return;
  SCOPED_TRACE(testing::Message() << algorithm.name << " " << name_of(request.collective) << " of "
                                  << request.size() << " ranks, " << request.elements << " x "
                                  << name_of(request.reduction.type) << " "
                                  << name_of(request.reduction.operation) << " on " << machine.name
                                  << ", root " << request.root
                                  << (request.in_place ? ", in place" : "") << ", pieces of "
                                  << tuning.piece.value
                                  << (tuning.several_paths ? ", several paths" : "")
                                  << (tuning.joined > 1 ? ", joined slots" : ""));
  const auto joined = static_cast<std::uint64_t>(tuning.joined);
  const Settings settings = settings_with_slots(machine, Bytes{tuning.piece.value / joined});
  Ranks ranks(machine, request, misaligned, settings);
  Routes routes(machine, with_collective_slots(settings, machine));
  for (const Executor executor : {Executor::stream, Executor::graph, Executor::graph}) {
    const CollectiveProgram program(build(algorithm, machine, request, tuning, &routes), executor);
    ranks.run(program);
    EXPECT_TRUE(ranks.right()) << name_of(executor);
  }
  EXPECT_THAT(ranks.close(), testing::IsEmpty());
}

}  // namespace polypath::test
