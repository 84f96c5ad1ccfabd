// Copies of memory that relays must not touch: the GPU that has it makes the copies at that end.

#include <gmock/gmock.h>

#include <set>

#include "support/forwarding_driver.h"
#include "support/rig.h"

namespace polypath::test::own_ends_test {
namespace {

using testing::IsEmpty;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kBytes = 8 * kMiB;

// Notes which GPUs' streams touch a piece of memory.
class NotingDriver final : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  StreamHandle create_stream(PlaceId gpu) override {
    const StreamHandle made = ForwardingDriver::create_stream(gpu);
    gpus[made] = gpu;
    return made;
  }
  void copy(const CopyRequest& request, StreamHandle stream) override {
    for (const Address end : {request.source, request.destination})
      if (begin <= end && end < begin + Bytes{kBytes}) users.insert(gpus.at(stream));
    ForwardingDriver::copy(request, stream);
  }

  Address begin;  ///< of the memory
  std::map<StreamHandle, PlaceId> gpus;
  std::set<PlaceId> users;
};

enum class End { destination, source };

struct Case {
  const char* destination;
  const char* source;
  End own;
  std::vector<std::string> paths;
};

class OwnEnds : public testing::TestWithParam<Case> {
 protected:
  // Over all paths, in a stream of the GPU that has the memory.
  CopyResult copy(Reach reach, Executor executor = Executor::stream) {
    const Case& of = GetParam();
    Buffer &source = rig_.buffer(of.source, kBytes), &to = rig_.buffer(of.destination, kBytes);
    const bool inward = of.own == End::destination;
    owner_ = inward ? to.place : source.place;
    noted_.begin = inward ? to.address : source.address;
    const StreamHandle stream = rig_.stream(inward ? of.destination : of.source);
    noted_.gpus[stream] = owner_;
    CopyCall call = rig_.call(to, 0, source, 0, kBytes, stream, {});
    call.options = forced(of.paths, executor);
    CopyEnds ends{.destination = to.place, .source = source.place};
    const auto kind = [&](PlaceId place) {
      return rig_.machine().place(place).kind == PlaceKind::host ? MemoryKind::pinned
                                                                 : MemoryKind::device;
    };
    ends.destination_kind = kind(to.place), ends.source_kind = kind(source.place);
    (inward ? ends.destination_reach : ends.source_reach) = reach;
    return rig_.engine().enqueue(rig_.engine().decide(call, ends));
  }
  [[nodiscard]] PlaceId owner_of_case() const {
    const Case& of = GetParam();
    return rig_.machine().find_place(of.own == End::destination ? of.destination : of.source);
  }

  mutable Rig rig_{"beluga"};
  NotingDriver& noted_ = rig_.use<NotingDriver>();
  PlaceId owner_;
};

INSTANTIATE_TEST_SUITE_P(
    EveryWay, OwnEnds,
    testing::Values(Case{"gpu0", "host0", End::destination, {"direct", "gpu1", "gpu2"}},
                    Case{"host0", "gpu0", End::source, {"direct", "gpu1", "gpu2"}},
                    Case{"gpu1", "gpu0", End::source, {"direct", "gpu2", "host0"}},
                    Case{"gpu1", "gpu0", End::destination, {"direct", "gpu2", "host0"}}),
    [](const auto& of) {
      return std::string(of.param.source) + "_to_" + of.param.destination +
             (of.param.own == End::source ? "_of_the_source" : "_of_the_destination");
    });

TEST_P(OwnEnds, AreTouchedByTheirOwnGpuOnly) {
  const CopyResult result = copy(Reach::only({owner_of_case()}));
  rig_.synchronize();

  EXPECT_EQ(result.means, Method::paths);
  EXPECT_EQ(result.plan->shape.paths.size(), 3U);
  EXPECT_EQ(noted_.users, std::set<PlaceId>{owner_});
  EXPECT_THAT(rig_.driver().violations(), IsEmpty());
}

// A graph would keep their addresses.
TEST_P(OwnEnds, AreCopiedByStreamsEvenIfAGraphIsAskedFor) {
  EXPECT_EQ(copy(Reach::only({owner_of_case()}), Executor::graph).executor, Executor::stream);
  EXPECT_EQ(copy(Reach{}, Executor::graph).executor, Executor::graph);
}

TEST_P(OwnEnds, AreTouchedByRelaysWhereTheyAreOpen) {
  (void)copy(Reach{});
  rig_.synchronize();

  const bool pushed =
      GetParam().own == End::source && GetParam().destination != std::string("host0");
  EXPECT_EQ(noted_.users.size(), pushed ? 1U : 3U - (GetParam().paths.back() == "host0" ? 1U : 0U));
}

TEST_P(OwnEnds, ThatNoGpuMayTouchAreCopiedNatively) {
  const CopyResult result = copy(Reach::none());

  EXPECT_EQ(result.means, Method::native);
}

// Open to the stream's GPU or to its own: one of them is not enough.
TEST_P(OwnEnds, ThatTheirOwnGpuMayNotTouchAreCopiedNatively) {
  const CopyResult result = copy(Reach::only({rig_.machine().find_place("gpu3")}));

  EXPECT_EQ(result.means, Method::native);
}

}  // namespace
}  // namespace polypath::test::own_ends_test
