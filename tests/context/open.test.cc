// What is open where a machine is named: it is simulated, all contexts on it share what is in
// flight, and an opening afresh has nothing of the one before.

#include "context/open.h"

#include <gtest/gtest.h>

#include "machine/load_machine.h"
#include "support/errors.h"

namespace polypath::test::open_test {
namespace {

using test::expect_error;

constexpr Bytes kLarge = 64_MiB;

// Memory at two GPUs of an opening, and a stream of the first.
struct Ends {
  explicit Ends(const OpenMachine& opened)
      : source(opened.driver().allocate({0}, kLarge)),
        destination(opened.driver().allocate({1}, kLarge)),
        stream(opened.driver().create_stream({0})) {}
  [[nodiscard]] CopyCall call() const { return {destination, source, kLarge, stream, {0}, {}}; }

  Address source, destination;
  StreamHandle stream;
};

TEST(OpenMachine, IsSimulatedWhereItIsNamed) {
  const OpenMachine opened = open_machine("beluga", {});

  EXPECT_EQ(opened.machine().name, "beluga");
  EXPECT_TRUE(opened.simulated());
  EXPECT_EQ(opened.simulator(), &opened.driver());
  EXPECT_EQ(opened.driver().name(), "sim");
  EXPECT_TRUE(opened.note().empty());
}

TEST(OpenMachine, IsTheSettingsWhereNothingElseIsNamed) {
  Settings settings;
  settings.machine = "narval";

  EXPECT_EQ(open_machine("", settings).machine().name, "narval");
  EXPECT_EQ(open_machine("beluga", settings).machine().name, "beluga");
}

TEST(OpenMachine, ThatIsUnknownIsRefused) {
  expect_error(
      ErrorCode::invalid_argument, [] { (void)open_machine("belgua", {}); }, "belgua");
}

TEST(OpenMachine, RecordsCopiesIfItIsAskedTo) {
  const OpenMachine opened = open_machine("beluga", {}, {.record_trace = true});
  const OpenMachine silent = opened.reopen();
  const Ends recorded(opened), unrecorded(silent);

  opened.make_engine().copy(recorded.call());
  silent.make_engine().copy(unrecorded.call());

  EXPECT_FALSE(opened.simulator()->trace().empty());
  EXPECT_TRUE(silent.simulator()->trace().empty());
}

TEST(OpenMachine, AfreshHasNothingOfTheOneBefore) {
  const OpenMachine opened = open_machine("beluga", {});
  const Ends ends(opened);

  const OpenMachine again = opened.reopen();

  EXPECT_EQ(again.machine().name, opened.machine().name);
  EXPECT_FALSE(again.driver().find_memory(ends.source));
  EXPECT_TRUE(again.simulator()->leaks().empty());
}

// Beside a copy that takes the relays, the second one may not have the plan that it has alone.
TEST(OpenMachine, ItsEnginesKnowOfEachOther) {
  const OpenMachine opened = open_machine("beluga", {}, sim::kTimingOnly);
  Engine first = opened.make_engine(), second = opened.make_engine();
  const Ends ends(opened);
  const Address at_gpu2 = opened.driver().allocate({2}, kLarge);
  const Address at_gpu3 = opened.driver().allocate({3}, kLarge);
  const StreamHandle other = opened.driver().create_stream({2});
  const PlanPointer alone = second.plan({2}, {3}, kLarge);

  first.copy(ends.call());
  const CopyResult beside = second.copy({at_gpu3, at_gpu2, kLarge, other, {2}, {}});

  ASSERT_TRUE(beside.plan);
  EXPECT_NE(beside.plan->structure, alone->structure);
}

TEST(Simulate, TakesAMachineAsItIs) {
  Machine machine = load_machine("beluga");
  machine.name = "mine";

  const OpenMachine opened = simulate(machine, {});

  EXPECT_TRUE(opened.simulated());
  EXPECT_EQ(opened.machine().name, "mine");
}

TEST(ChooseNominalMachine, IsWhatIsNamed) {
  const ChosenMachine chosen = choose_nominal_machine("beluga", {});

  EXPECT_EQ(chosen.machine.name, "beluga");
  EXPECT_TRUE(chosen.simulated);
}

}  // namespace
}  // namespace polypath::test::open_test
