// Every driver call of a pageable copy fails once, and from there on for good: the copy is right,
// or reports an error; what follows is right, and nothing is leaked.

#include "engine/faults.h"
#include "support/layers.h"

namespace polypath::test::pageable_faults_test {
namespace {

using sim::Call;
using testing::IsEmpty;

constexpr std::size_t kWindow = 16 << 10;
constexpr std::size_t kSize = 5 * kWindow - 7;

Settings fault_settings() {
  Settings settings = window_settings();
  settings.pageable_window = Bytes{kWindow};
  settings.copy_threads = 2;
  return settings;
}

struct Situation {
  bool inward;
  std::optional<Executor> executor;
};

// Copies between pageable memory and a GPU; all but fallbacks and errors go through the windows.
class Subject final : public FaultSubject {
 public:
  explicit Subject(const Situation& situation)
      : FaultSubject(fault_settings(), forced({"direct", "gpu2"}, situation.executor)) {
    use(buffer(situation.inward), buffer(situation.inward), buffer(!situation.inward));
  }

 private:
  Buffer& buffer(bool pageable) {
    return pageable ? rig_.pageable_buffer(kSize) : rig_.buffer("gpu0", kSize);
  }
  void after_next(const Statistics& before) override {
    const Statistics counted = rig_.statistics();
    EXPECT_EQ(counted.pageable, before.pageable + 1);
    EXPECT_EQ(counted.transfers, counted.pageable + counted.fallbacks + counted.errors);
  }
};

// The same where the driver's own copy is faster: each copy that is made to fail is natively timed.
class Compared final : public FaultSubject {
 public:
  explicit Compared(bool inward) : FaultSubject(fault_settings(), {}) {
    use(buffer(inward), buffer(inward), buffer(!inward));
  }

 private:
  Buffer& buffer(bool pageable) {
    return pageable ? rig_.pageable_buffer(kSize) : rig_.buffer("gpu0", kSize);
  }
  // One that warms up and three that are timed, all through windows: the next one is compared.
  void start() override {
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(transfer());
  }
  void after_next(const Statistics& before) override {
    EXPECT_EQ(rig_.statistics().transfers, before.transfers + 1);
  }
};

class PageableCall : public testing::TestWithParam<Situation> {
 protected:
  /// With uses of each kind of call in a first copy.
  template <class Test>
  void for_every_use(Test test) {
    subject_.for_every_call([&](Call call, const std::vector<int>& uses) {
      for (const int nth : uses) {
        SCOPED_TRACE(testing::Message() << "use " << nth);
        test(call, nth);
      }
    });
  }
  sim::SimDriver& driver() { return subject_.rig().driver(); }

  Subject subject_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(
    Copies, PageableCall,
    testing::Values(Situation{true, Executor::stream}, Situation{true, Executor::graph},
                    Situation{false, Executor::stream}, Situation{false, Executor::graph}),
    [](const auto& info) {
      const bool graph = info.param.executor == Executor::graph;
      return std::string(info.param.inward ? "in" : "out") + (graph ? "_graph" : "_stream");
    });

TEST_P(PageableCall, MayFailOnce) {
  for_every_use([&](Call call, int nth) {
    driver().fail_nth(call, nth);

    const bool success = subject_.transfer();

    EXPECT_TRUE(success);
    subject_.expect_right(success);
  });
}

TEST_P(PageableCall, MayFailForGood) {
  for_every_use([&](Call call, int nth) {
    driver().fail_from(call, nth);

    const bool success = subject_.transfer();

    EXPECT_EQ(success, call != Call::copy);
    subject_.expect_right(success);
  });
}

// --- of a native copy that is timed ---

class ComparedCall : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Copies, ComparedCall, testing::Bool(),
                         [](const auto& of) { return of.param ? "in" : "out"; });

// Only if the copy itself fails is that the caller's business.
TEST_P(ComparedCall, MayFailOnce) {
  Compared subject(GetParam());
  subject.for_every_call([&](Call call, const std::vector<int>& uses) {
    for (const int nth : uses) {
      SCOPED_TRACE(testing::Message() << "use " << nth);
      const std::uint64_t before = subject.rig().statistics().native;
      subject.rig().driver().fail_nth(call, nth);

      const bool success = subject.transfer();

      EXPECT_EQ(success, call != Call::copy);
      const Statistics counted = subject.rig().statistics();
      EXPECT_EQ(counted.native + counted.fallbacks + counted.errors, before + 1);
      subject.expect_right(success);
    }
  });
}

// --- two kinds of call at once ---

class UnsettledPageable : public testing::TestWithParam<PlanOptions> {};

// Over one path the record after a window fails, over two one within it.
INSTANTIATE_TEST_SUITE_P(Paths, UnsettledPageable,
                         testing::Values(forced({"direct"}, Executor::stream),
                                         forced({"direct", "gpu2"}, Executor::stream)),
                         [](const auto& info) { return info.index == 0 ? "one" : "two"; });

TEST_P(UnsettledPageable, ACopyThatCannotBeWaitedForIsAnError) {
  Rig rig("beluga", fault_settings());
  auto& driver = rig.use<WithoutSynchronize>();
  Buffer& source = rig.pageable_buffer(kSize);
  Buffer& destination = rig.buffer("gpu0", kSize);
  Buffer& other = rig.buffer("gpu0", kSize);
  const StreamHandle stream = rig.stream("gpu0");
  driver.working = 0;
  rig.driver().fail_nth(Call::record, 3);  // the first is for the work before the copy

  EXPECT_THROW(rig.copy(destination, source, stream, GetParam()), Error);

  EXPECT_EQ(rig.statistics().errors, 1U);
  EXPECT_EQ(rig.statistics().fallbacks, 0U);
  // Later copies do without the windows, which may be in use.
  driver.working = WithoutSynchronize::kAlways;
  rig.copy(other, source, stream, GetParam());
  EXPECT_EQ(rig.statistics().fallbacks, 1U);
  rig.synchronize();
  EXPECT_TRUE(Rig::intact(other));
  rig.destroy_engines();
  EXPECT_THAT(rig.driver().leaks(),
              testing::Contains(std::to_string(3 * kWindow) + " bytes at host0"));
}

}  // namespace
}  // namespace polypath::test::pageable_faults_test
