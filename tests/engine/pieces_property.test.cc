// Random sets of small copies on random machines: every byte right, nothing unordered, nothing
// leaked.
//
// A set goes from one place to another on one stream: pieces of random sizes, in random order, some
// of them neighbours, with copies of the whole buffers before and after it.

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "machine/load_machine.h"
#include "support/effort.h"
#include "support/random.h"
#include "support/rig.h"
#include "support/sanitizers.h"

namespace polypath::test::pieces_property_test {
namespace {

using testing::IsEmpty;

std::string random_machine(Random& random) {
  static const std::vector<std::string> zoo = zoo_names();
  if (random.chance(50)) return random.pick(zoo);
  return "synthetic:" + std::to_string(random.between(0, 199));
}

Settings random_settings(Random& random) {
  Settings settings;
  settings.min_message = 64_KiB;
  settings.min_gain = 0;
  settings.staging_slots = random.integer(1, 5);
  settings.staging_slot = Bytes{512 * random.between(16, 1024)};
  settings.max_paths = random.integer(1, 8);
  settings.lanes = random.integer(1, 3);
  settings.piece_kernels = random.chance(50);
  return settings;
}

class RandomPieces {
 public:
  explicit RandomPieces(std::uint64_t seed)
      : random_(seed), rig_(load_machine(random_machine(random_)), random_settings(random_)) {
    const Machine& machine = rig_.machine();
    const Hop& hop = random_.pick(machine.hops);
    const bool pushes = machine.place(hop.source).kind == PlaceKind::gpu;
    stream_ = rig_.stream(machine.place(pushes ? hop.source : hop.destination).name);
    cut();
    const std::string from = machine.place(hop.source).name;
    const std::string to = machine.place(hop.destination).name;
    source_ = &rig_.buffer(from, total_), other_source_ = &rig_.buffer(from, total_);
    destination_ = &rig_.buffer(to, total_), after_ = &rig_.buffer(to, total_);
  }

  void run() {
    for (int set = random_.integer(1, 3); set > 0; --set) {
      rig_.copy(*source_, *other_source_, stream_);
      copy_set();
      rig_.copy(*after_, *destination_, stream_);
      rig_.copy(*source_, 0, *other_source_, 1, total_ - 1, stream_);
    }
    EXPECT_TRUE(rig_.intact());
    EXPECT_THAT(rig_.close(), IsEmpty());
  }

  [[nodiscard]] int over_several_paths() const { return several_; }
  [[nodiscard]] bool by_kernels() { return rig_.driver().uses(sim::Call::run_kernel) > 0; }

 private:
  // Ranges that follow each other, each with a gap after it or none.
  void cut() {
    const std::size_t most = std::size_t{4096} << random_.integer(1, 6);
    for (int pieces = random_.integer(4, 250); pieces > 0; --pieces) {
      const std::size_t bytes = random_.chance(50) ? most : random_.between(3000, most);
      ranges_.push_back({total_, bytes});
      total_ += bytes + (random_.chance(30) ? 0 : random_.index(700));
    }
  }

  void copy_set() {
    std::vector<std::size_t> order(ranges_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1 && random_.chance(98); --i)
      std::swap(order[i - 1], order[random_.index(i)]);
    std::vector<CopyCall> calls;
    for (const std::size_t number : order) {
      const auto [at, bytes] = ranges_[number];
      calls.push_back(rig_.call(*destination_, at, *source_, at, bytes, stream_));
    }
    const auto results = rig_.engine().copy_many(calls);
    several_ += std::any_of(results.begin(), results.end(), [](const CopyResult& result) {
      return result.means == Method::paths && result.plan->shape.paths.size() > 1;
    });
    for (const auto [at, bytes] : ranges_) {
      const auto from = source_->expected.begin() + static_cast<std::ptrdiff_t>(at);
      std::copy_n(from, bytes, destination_->expected.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  Random random_;
  Rig rig_;
  StreamHandle stream_;
  Buffer* source_ = nullptr;
  Buffer* other_source_ = nullptr;
  Buffer* destination_ = nullptr;
  Buffer* after_ = nullptr;
  std::vector<std::pair<std::size_t, std::size_t>> ranges_;  // offset and bytes
  std::size_t total_ = 0;
  int several_ = 0;
};

TEST(RandomSetsOfPieces, AreRightToTheByte) {
  const std::uint64_t programs = kSanitized ? 15 : short_or_long(30, 60);
  int several = 0, by_kernels = 0;
  for (std::uint64_t seed = 0; seed < programs; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomPieces pieces(seed);
    pieces.run();
    several += pieces.over_several_paths();
    by_kernels += pieces.by_kernels();
  }
  EXPECT_GT(several, static_cast<int>(programs) / 4);
  EXPECT_GT(by_kernels, static_cast<int>(programs) / 8);
}

}  // namespace
}  // namespace polypath::test::pieces_property_test
