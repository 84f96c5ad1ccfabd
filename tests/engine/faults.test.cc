// Every driver call of a 16 MiB transfer fails once, and from there on for good: the copy either
// reports an error or is right, what follows is right, and nothing is leaked.

#include <gmock/gmock.h>

#include "core/error.h"
#include "support/forwarding_driver.h"
#include "support/rig.h"
#include "support/sanitizers.h"

namespace polypath::test {
namespace {

using sim::Call;
using testing::IsEmpty;

// 16 MiB; under a sanitizer the same number of calls with fewer bytes each.
constexpr std::size_t kSize = std::size_t{kSanitized ? 2 : 16} << 20;
const std::vector<std::string> kPaths{"direct", "gpu2", "gpu3", "host"};

struct Situation {
  ExecutorChoice executor;
  bool warm;  ///< one transfer with other addresses was made before
};

// Transfers that can be made, fail, and be checked. Each has another source than the one before, so
// that no bytes are right because they were right already.
class Subject {
 public:
  explicit Subject(const Situation& situation)
      : situation_(situation), options_(forced(kPaths, situation.executor)) {
    baseline_ = rig_.driver().leaks();
    start();
  }

  /// Makes the next transfer; false if it reported an error: its bytes are anything then.
  bool transfer() {
    std::swap(source_, other_source_);
    try {
      rig_.copy(*destination_, *source_, stream_, options_);
      return true;
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::driver || error.code() == ErrorCode::out_of_memory)
          << error.what();
      return false;
    }
  }

  /// Bytes are right, if it was a success, and those of the next transfers by each executor, too;
  /// then, with an engine less, everything has been given back.
  void expect_right(bool success) {
    rig_.driver().clear_faults();
    rig_.synchronize();
    if (success) EXPECT_TRUE(Rig::intact(*destination_));
    EXPECT_TRUE(transfer());
    const bool graph = situation_.executor == ExecutorChoice::graph;
    rig_.copy(*elsewhere_, *source_, stream_,
              forced(kPaths, graph ? ExecutorChoice::stream : ExecutorChoice::graph));
    EXPECT_TRUE(rig_.intact());
    rig_.destroy_engines();
    EXPECT_EQ(rig_.driver().leaks(), baseline_);
    EXPECT_THAT(rig_.driver().violations(), IsEmpty());
    rig_.add_engine();
    start();
  }

  Rig& rig() { return rig_; }

 private:
  static Settings settings() {
    Settings settings;
    settings.staging_slot = Bytes{kSize / 16};
    settings.staging_slots = 3;
    return settings;
  }
  void start() {
    if (situation_.warm) rig_.copy(*elsewhere_, *source_, stream_, options_);
  }

  Situation situation_;
  Rig rig_{"beluga", settings()};
  PlanOptions options_;
  Buffer* source_ = &rig_.buffer("gpu0", kSize);
  Buffer* other_source_ = &rig_.buffer("gpu0", kSize);
  Buffer* destination_ = &rig_.buffer("gpu1", kSize);
  Buffer* elsewhere_ = &rig_.buffer("gpu1", kSize);
  StreamHandle stream_ = rig_.stream("gpu0");
  std::vector<std::string> baseline_;
};

int uses_in_transfer(Subject& subject, Call call) {
  const int before = subject.rig().driver().uses(call);
  subject.transfer();
  const int uses = subject.rig().driver().uses(call) - before;
  subject.expect_right(true);
  return uses;
}

class EveryCall : public testing::TestWithParam<Situation> {
 protected:
  /// Runs `test` for each kind of call with the number of its uses in a transfer.
  template <class Test>
  void for_every_call(Test test) {
    for (int kind = 0; kind < sim::kCallKinds; ++kind) {
      const Call call = static_cast<Call>(kind);
      SCOPED_TRACE(sim::name_of(call));
      test(call, uses_in_transfer(subject_, call));
    }
    EXPECT_THAT(subject_.rig().close(), IsEmpty());
  }
  sim::SimDriver& driver() { return subject_.rig().driver(); }

  Subject subject_{GetParam()};
};

std::string situation_name(const testing::TestParamInfo<Situation>& info) {
  return std::string(info.param.executor == ExecutorChoice::graph ? "graph" : "stream") +
         (info.param.warm ? "_warm" : "_cold");
}

INSTANTIATE_TEST_SUITE_P(Transfers, EveryCall,
                         testing::Values(Situation{ExecutorChoice::stream, false},
                                         Situation{ExecutorChoice::stream, true},
                                         Situation{ExecutorChoice::graph, false},
                                         Situation{ExecutorChoice::graph, true}),
                         situation_name);

// Under a sanitizer only some of the many.
int step_of(int uses) { return kSanitized ? std::max(1, uses / 3) : 1; }

TEST_P(EveryCall, MayFailOnce) {
  for_every_call([&](Call call, int uses) {
    for (int nth = 1; nth <= uses; nth += step_of(uses)) {
      SCOPED_TRACE(testing::Message() << "use " << nth << " of " << uses);
      driver().fail_nth(call, nth);

      const bool success = subject_.transfer();

      EXPECT_TRUE(success);
      EXPECT_EQ(subject_.rig().statistics().fallbacks, 1U);
      subject_.expect_right(success);
    }
  });
}

// No copy is done where none can be; without any other kind of call it is only slower. What fails
// for good is tried at every third use, because most of it is what fails once.
TEST_P(EveryCall, MayFailForGood) {
  for_every_call([&](Call call, int uses) {
    for (int nth = 1; nth <= uses; nth += 3 * step_of(uses)) {
      SCOPED_TRACE(testing::Message() << "from use " << nth << " of " << uses);
      driver().fail_from(call, nth);

      const bool success = subject_.transfer();

      EXPECT_EQ(success, call != Call::copy);
      subject_.expect_right(success);
    }
  });
}

TEST_P(EveryCall, MayFailInSeveralTransfers) {
  for_every_call([&](Call call, int) {
    driver().fail_from(call, 2);

    bool success = true;
    for (int i = 0; i < 4; ++i) success = subject_.transfer();

    subject_.expect_right(success);
  });
}

// Staging memory that cannot be waited for is kept rather than given to somebody else. All else has
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
  Subject cold_streams({ExecutorChoice::stream, false});
  Subject warm_streams({ExecutorChoice::stream, true});
  Subject cold_graphs({ExecutorChoice::graph, false});
  Subject warm_graphs({ExecutorChoice::graph, true});

  for (const Call call : {Call::allocate, Call::create_stream, Call::create_event})
    EXPECT_GE(uses_in_transfer(cold_streams, call), 3) << sim::name_of(call);
  for (const Call call : {Call::record, Call::wait, Call::copy})
    EXPECT_GE(uses_in_transfer(warm_streams, call), 20) << sim::name_of(call);
  EXPECT_EQ(uses_in_transfer(warm_streams, Call::allocate), 0);
  EXPECT_EQ(uses_in_transfer(cold_graphs, Call::instantiate), 1);
  EXPECT_EQ(uses_in_transfer(cold_graphs, Call::launch), 1);
  EXPECT_GE(uses_in_transfer(warm_graphs, Call::update_node), 20);
  EXPECT_GE(uses_in_transfer(warm_graphs, Call::record), 3);
  EXPECT_GE(uses_in_transfer(warm_graphs, Call::wait), 6);
}

// --- two kinds of call at once ---

// Cannot wait for a stream while told not to.
class WithoutSynchronize final : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  void synchronize(StreamHandle stream) override {
    if (broken) throw Error(ErrorCode::driver, "synchronize failed");
    ForwardingDriver::synchronize(stream);
  }
  bool broken = false;
};

// A native copy now could be overtaken by what is queued, so that none is made.
TEST(Unsettled, ATransferThatCannotBeWaitedForIsAnError) {
  Rig rig("beluga", small_settings());
  WithoutSynchronize driver(rig.driver());
  rig.use(driver);
  Buffer& source = rig.buffer("gpu0", 1 << 20);
  Buffer& destination = rig.buffer("gpu1", 1 << 20);
  Buffer& other = rig.buffer("gpu1", 1 << 20);
  const StreamHandle stream = rig.stream("gpu0");
  driver.broken = true;
  rig.driver().fail_nth(Call::wait, 20);

  EXPECT_THROW(rig.copy(destination, source, stream, forced(kPaths, ExecutorChoice::stream)),
               Error);

  EXPECT_EQ(rig.statistics().errors, 1U);
  EXPECT_EQ(rig.statistics().fallbacks, 0U);
  // The stream and the engine stay usable, without the staging memory that may be in use.
  driver.broken = false;
  rig.copy(other, source, stream, forced(kPaths, ExecutorChoice::stream));
  EXPECT_EQ(rig.statistics().fallbacks, 1U);
  rig.synchronize();
  EXPECT_TRUE(Rig::intact(other));
}

}  // namespace
}  // namespace polypath::test
