// Random programs on random machines: every byte right, nothing unordered, nothing leaked.
//
// A program has some engines and streams on one machine. Each stream has buffers of its own,
// between which it copies back and forth at odd offsets: the same copies in ordinary memory, in the
// order of issue, say what every byte must be. Streams run beside each other over the same hops, in
// both directions; now and then one hands a buffer to another, ordered by an event of the caller.

#include <gmock/gmock.h>

#include <map>

#include "machine/load_machine.h"
#include "support/effort.h"
#include "support/random.h"
#include "support/rig.h"
#include "support/sanitizers.h"

namespace polypath::test::property_test {
namespace {

using testing::IsEmpty;

const Machine& machine_named(const std::string& name) {
  static std::map<std::string, Machine> machines;
  const auto found = machines.find(name);
  return found != machines.end() ? found->second : machines[name] = load_machine(name);
}

std::string random_machine(Random& random) {
  static const std::vector<std::string> zoo = zoo_names();
  if (random.chance(40)) return random.pick(zoo);
  return "synthetic:" + std::to_string(random.between(0, 199));
}

// Small slots and chunks, so that small messages already use every slot many times.
Settings random_settings(Random& random) {
  Settings settings;
  settings.min_message = Bytes{512U << random.integer(0, 6)};
  settings.staging_slots = random.integer(2, 8);
  settings.staging_slot = Bytes{512 * random.between(8, 64)};
  settings.min_chunk = Bytes{512 * random.between(1, 8)};
  settings.min_gain = random.chance(50) ? 0.0 : 0.02;
  settings.max_paths = random.integer(1, 8);
  settings.graph_after = random.integer(0, 3);
  settings.graph_cache = random.integer(1, 4);
  settings.plan_cache = random.integer(1, 16);
  return settings;
}

Settings large_settings(Random& random) {
  Settings settings;
  settings.staging_slots = random.integer(2, 8);
  settings.staging_slot = Bytes{std::uint64_t{1} << random.integer(20, 23)};
  settings.graph_after = 0;
  return settings;
}

// Doubled again with a chance of `growth` percent; with a liking for the sizes around powers of
// two.
std::size_t random_size(Random& random, std::size_t most, unsigned growth) {
  if (random.chance(3)) return 0;
  std::size_t size = 1;
  while (size < most && random.chance(growth)) size *= 2;
  if (random.chance(30)) return std::min(most, size - random.index(2));
  return std::min(most, random.between(1, size));
}

class Program {
 public:
  struct Scale {
    std::size_t most_bytes;
    unsigned growth;
    int most_copies;
    Settings (*settings)(Random&);
  };

  Program(std::uint64_t seed, const Scale& scale)
      : random_(seed),
        scale_(scale),
        machine_(machine_named(random_machine(random_))),
        rig_(machine_, scale.settings(random_)) {
    engines_ = 1 + random_.index(3);
    for (std::size_t e = 1; e < engines_; ++e) rig_.add_engine();
    const std::size_t streams = 1 + random_.index(4);
    for (std::size_t s = 0; s < streams; ++s) add_stream();
    copies_ = random_.integer(1, scale.most_copies);
  }

  void run() {
    for (int i = 0; i < copies_; ++i) {
      if (random_.chance(10)) hand_over();
      copy_between(random_.pick(lanes_));
      if (random_.chance(2)) rig_.synchronize();
    }
    count();
    if (random_.chance(30)) rig_.destroy_engines();
    EXPECT_TRUE(rig_.intact());
    EXPECT_THAT(rig_.close(), IsEmpty());
  }

  [[nodiscard]] std::uint64_t over_several_paths() const { return several_; }
  [[nodiscard]] std::uint64_t errors() const { return errors_; }
  [[nodiscard]] const std::string& machine_name() const { return machine_.name; }

 private:
  struct Lane {
    StreamHandle stream;
    PlaceId gpu;
    EventHandle event;
    std::vector<Buffer*> buffers;
  };

  void add_stream() {
    const PlaceId gpu = random_.pick(machine_.places_of(PlaceKind::gpu));
    Lane lane{rig_.stream(machine_.place(gpu).name), gpu, rig_.driver().create_event(gpu), {}};
    for (std::size_t count = 2 + random_.index(2); count > 0; --count) {
      const Place& place = random_.pick(machine_.places);
      lane.buffers.push_back(
          &rig_.buffer(place.name, random_size(random_, scale_.most_bytes, scale_.growth) + 64));
    }
    lanes_.push_back(std::move(lane));
  }

  // From now on another stream uses one of this stream's buffers, after all that this one did.
  void hand_over() {
    Lane& giver = lanes_[random_.index(lanes_.size())];
    Lane& taker = lanes_[random_.index(lanes_.size())];
    if (&giver == &taker || giver.buffers.size() < 3) return;
    rig_.driver().record(giver.event, giver.stream);
    rig_.driver().wait(taker.stream, giver.event);
    taker.buffers.push_back(giver.buffers.back());
    giver.buffers.pop_back();
  }

  void copy_between(const Lane& lane) {
    const std::size_t which = random_.index(lane.buffers.size());
    const std::size_t other = which + random_.between(1, lane.buffers.size() - 1);
    Buffer& source = *lane.buffers[which];
    Buffer& destination = *lane.buffers[other % lane.buffers.size()];
    const bool same_place = source.place == destination.place;
    if (!same_place && !machine_.find_hop(source.place, destination.place)) return;
    const std::size_t most = std::min(source.expected.size(), destination.expected.size());
    const std::size_t bytes =
        random_.chance(50) ? most - random_.index(64) : random_.between(0, most);
    const PlanOptions options = same_place ? PlanOptions{} : random_options(source, destination);
    const std::size_t from = random_.index(source.expected.size() - bytes + 1);
    const std::size_t to = random_.index(destination.expected.size() - bytes + 1);
    rig_.copy(destination, to, source, from, bytes, lane.stream, options, random_.index(engines_));
  }

  PlanOptions random_options(const Buffer& source, const Buffer& destination) {
    PlanOptions options;
    options.executor = random_.pick(
        std::vector<std::optional<Executor>>{std::nullopt, Executor::stream, Executor::graph});
    if (random_.chance(30)) return options;
    std::vector<std::string> names;
    for (const Path& path : find_paths(machine_, source.place, destination.place))
      if (names.empty() || random_.chance(60)) names.push_back(name_of(machine_, path));
    if (names.size() > 1 && random_.chance(20)) names.erase(names.begin());
    if (random_.chance(30)) options.paths = names;
    else options.shares = random_shares(names);
    for (const std::string& name : names)
      if (name != "direct" && random_.chance(60)) options.chunks[name] = random_.integer(1, 40);
    return options;
  }

  std::map<std::string, double> random_shares(const std::vector<std::string>& names) {
    std::map<std::string, double> shares;
    double sum = 0;
    for (const std::string& name : names) sum += shares[name] = random_.integer(1, 20);
    for (auto& [name, share] : shares) share /= sum;
    return shares;
  }

  void count() {
    for (std::size_t e = 0; e < engines_; ++e) {
      const Statistics counted = rig_.statistics(e);
      several_ += counted.streams + counted.graphs;
      errors_ += counted.errors + counted.fallbacks;
      EXPECT_EQ(counted.transfers, counted.native + counted.streams + counted.graphs);
    }
    for (const Lane& lane : lanes_) rig_.driver().destroy_event(lane.event);
  }

  Random random_;
  Scale scale_;
  const Machine& machine_;
  Rig rig_;
  std::size_t engines_ = 1;
  int copies_ = 1;
  std::vector<Lane> lanes_;
  std::uint64_t several_ = 0;
  std::uint64_t errors_ = 0;
};

// Runs the programs of seeds first, first + 1, ...; at least `least` transfers of each must, on
// average, go over several paths.
void run_programs(std::uint64_t first, std::uint64_t count, const Program::Scale& scale,
                  double least) {
  std::uint64_t several = 0;
  for (std::uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Program program(seed, scale);
    SCOPED_TRACE(program.machine_name());
    program.run();
    several += program.over_several_paths();
    EXPECT_EQ(program.errors(), 0U);
  }
  // Few programs need not be average ones.
  if (!kSanitized) EXPECT_GT(static_cast<double>(several), least * static_cast<double>(count));
}

class SmallPrograms : public testing::TestWithParam<std::uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Blocks, SmallPrograms, testing::Range<std::uint64_t>(0, 8));

TEST_P(SmallPrograms, AreRightToTheByte) {
  const std::uint64_t count = kSanitized ? 40 : short_or_long(150, 1000);
  run_programs(GetParam() * 10000, count, {std::size_t{1} << 20, 94, 24, random_settings}, 3);
}

class LargePrograms : public testing::TestWithParam<std::uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Blocks, LargePrograms, testing::Range<std::uint64_t>(0, 4));

TEST_P(LargePrograms, AreRightToTheByte) {
  const std::uint64_t count = kSanitized ? 1 : short_or_long(3, 12);
  const std::size_t most = std::size_t{kSanitized ? 8 : 64} << 20;
  run_programs(1000000 + GetParam() * 1000, count, {most, 99, 8, large_settings}, 1);
}

// Window after window in both directions over the same pair, as a benchmark would.
TEST(BothWays, WindowsUpToSixteenAreRight) {
  for (const int window : {1, 2, 5, 16})
    for (const std::optional<Executor> executor : {Executor::stream, Executor::graph}) {
      Rig rig("pcie4", small_settings());
      const StreamHandle there = rig.stream("gpu0");
      const StreamHandle back = rig.stream("gpu1");
      const PlanOptions options = forced({"direct", "gpu2", "gpu3", "host"}, executor);
      for (int i = 0; i < window; ++i) {
        rig.copy(rig.buffer("gpu1", 100001), rig.buffer("gpu0", 100001), there, options);
        rig.copy(rig.buffer("gpu0", 99999), rig.buffer("gpu1", 99999), back, options);
      }
      EXPECT_TRUE(rig.intact());
      EXPECT_THAT(rig.close(), IsEmpty());
    }
}

}  // namespace
}  // namespace polypath::test::property_test
