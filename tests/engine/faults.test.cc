// Every driver call of a transfer fails once, and from there on for good: the copy either
// reports an error or is right, what follows is right, and nothing is leaked.

#include "engine/faults.h"

#include "support/layers.h"

namespace polypath::test::faults_test {
namespace {

using sim::Call;
using testing::IsEmpty;

constexpr std::size_t kSize = std::size_t{2} << 20;  // in as many calls as 16 MiB
const std::vector<std::string> kPaths{"direct", "gpu2", "gpu3", "host"};

struct Situation {
  std::optional<Executor> executor;
  bool warm;  ///< one transfer with other addresses was made before
};

Settings settings() {
  Settings settings;
  settings.staging_slot = Bytes{kSize / 16};
  settings.staging_slots = 3;
  return settings;
}

// Transfers between GPUs over all paths; after each that failed, one by the other executor, too.
class Subject final : public FaultSubject {
 public:
  explicit Subject(const Situation& situation)
      : FaultSubject(settings(), forced(kPaths, situation.executor)), situation_(situation) {
    use(rig_.buffer("gpu0", kSize), rig_.buffer("gpu0", kSize), rig_.buffer("gpu1", kSize));
  }

 private:
  void start() override {
    if (situation_.warm) rig_.copy(elsewhere_, *source_, stream_, options_);
  }
  void after_next(const Statistics&) override {
    const bool graph = situation_.executor == Executor::graph;
    rig_.copy(elsewhere_, *source_, stream_,
              forced(kPaths, graph ? Executor::stream : Executor::graph));
  }

  Situation situation_;
  Buffer& elsewhere_ = rig_.buffer("gpu1", kSize);
};

class EveryCall : public testing::TestWithParam<Situation> {
 protected:
  sim::SimDriver& driver() { return subject_.rig().driver(); }

  Subject subject_{GetParam()};
};

std::string situation_name(const testing::TestParamInfo<Situation>& info) {
  return std::string(info.param.executor == Executor::graph ? "graph" : "stream") +
         (info.param.warm ? "_warm" : "_cold");
}

INSTANTIATE_TEST_SUITE_P(Transfers, EveryCall,
                         testing::Values(Situation{Executor::stream, false},
                                         Situation{Executor::stream, true},
                                         Situation{Executor::graph, false},
                                         Situation{Executor::graph, true}),
                         situation_name);

TEST_P(EveryCall, MayFailOnce) {
  subject_.for_every_call([&](Call call, const std::vector<int>& uses) {
    for (const int nth : uses) {
      SCOPED_TRACE(testing::Message() << "use " << nth);
      driver().fail_nth(call, nth);

      const bool success = subject_.transfer();

      EXPECT_TRUE(success);
      EXPECT_EQ(subject_.rig().statistics().fallbacks, 1U);
      subject_.expect_right(success);
    }
  });
}

// No copy is done where none can be; without any other kind of call it is only slower.
TEST_P(EveryCall, MayFailForGood) {
  subject_.for_every_call([&](Call call, const std::vector<int>& uses) {
    for (const int nth : uses) {
      SCOPED_TRACE(testing::Message() << "from use " << nth);
      driver().fail_from(call, nth);

      const bool success = subject_.transfer();

      EXPECT_EQ(success, call != Call::copy);
      subject_.expect_right(success);
    }
  });
}

TEST_P(EveryCall, MayFailInSeveralTransfers) {
  subject_.for_every_call([&](Call call, const std::vector<int>&) {
    driver().fail_from(call, 2);

    bool success = true;
    for (int i = 0; i < 4; ++i) success = subject_.transfer();

    subject_.expect_right(success);
  });
}

// Staging memory that cannot be waited for is kept rather than given to another use. All else has
// been given back as far as the driver lets it.
TEST_P(EveryCall, MayFailWhenTheEngineGoes) {
  for (int kind = 0; kind < sim::kCallKinds; ++kind) {
    const Call call = static_cast<Call>(kind);
    SCOPED_TRACE(sim::name_of(call));
    Subject subject(GetParam());
    subject.transfer();

    subject.rig().driver().fail_from(call, 1);
    subject.rig().destroy_engines();
    subject.rig().driver().clear_faults();

    EXPECT_TRUE(subject.rig().intact());
    if (call == Call::synchronize)
      EXPECT_THAT(subject.rig().close(),
                  testing::Each(testing::HasSubstr("leaked: " + std::to_string(3 * kSize / 16))));
    else EXPECT_THAT(subject.rig().close(), IsEmpty());
  }
}

// The calls that a transfer of a kind is known to make; without them the tests above would be
// empty.
TEST(EveryKindOfCall, IsMadeSomewhere) {
  Subject cold_streams({Executor::stream, false});
  Subject warm_streams({Executor::stream, true});
  Subject cold_graphs({Executor::graph, false});
  Subject warm_graphs({Executor::graph, true});

  for (const Call call : {Call::allocate, Call::create_stream, Call::create_event})
    EXPECT_GE(cold_streams.uses_in_transfer(call), 3) << sim::name_of(call);
  for (const Call call : {Call::record, Call::wait, Call::copy})
    EXPECT_GE(warm_streams.uses_in_transfer(call), 20) << sim::name_of(call);
  EXPECT_EQ(warm_streams.uses_in_transfer(Call::allocate), 0);
  EXPECT_EQ(cold_graphs.uses_in_transfer(Call::instantiate), 1);
  EXPECT_EQ(cold_graphs.uses_in_transfer(Call::launch), 1);
  EXPECT_GE(warm_graphs.uses_in_transfer(Call::update_node), 20);
  EXPECT_GE(warm_graphs.uses_in_transfer(Call::record), 3);
  EXPECT_GE(warm_graphs.uses_in_transfer(Call::wait), 6);
}

// --- two kinds of call at once ---

// A native copy now could be overtaken by what is queued, so that none is made.
TEST(Unsettled, ATransferThatCannotBeWaitedForIsAnError) {
  Rig rig("beluga", small_settings());
  auto& driver = rig.use<WithoutSynchronize>();
  Buffer& source = rig.buffer("gpu0", 1 << 20);
  Buffer& destination = rig.buffer("gpu1", 1 << 20);
  Buffer& other = rig.buffer("gpu1", 1 << 20);
  const StreamHandle stream = rig.stream("gpu0");
  driver.working = 0;
  rig.driver().fail_nth(Call::wait, 20);

  EXPECT_THROW(rig.copy(destination, source, stream, forced(kPaths, Executor::stream)), Error);

  EXPECT_EQ(rig.statistics().errors, 1U);
  EXPECT_EQ(rig.statistics().fallbacks, 0U);
  // The stream and the engine stay usable, in a lane with staging memory of its own.
  driver.working = WithoutSynchronize::kAlways;
  rig.copy(other, source, stream, forced(kPaths, Executor::stream));
  EXPECT_EQ(rig.statistics().streams, 1U);
  rig.synchronize();
  EXPECT_TRUE(Rig::intact(other));
}

}  // namespace
}  // namespace polypath::test::faults_test
