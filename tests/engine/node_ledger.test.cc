// Processes of one node know of each other's transfers.

#include "engine/load/node_ledger.h"

#include <gmock/gmock.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "engine/ledger_fixture.h"
#include "engine/load/load_tracker.h"
#include "support/rig.h"

namespace polypath::test::node_ledger_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

using Ledger = LedgerFixture;

TEST_F(Ledger, ShowsWhatOthersHaveInFlight) {
  const auto mine = open_ledger(), theirs = open_ledger();

  theirs->publish({running(*theirs)});

  ASSERT_THAT(mine->others(), SizeIs(1));
  Load load;
  mine->add(mine->others().front(), load);
  EXPECT_EQ(load.at(0), 5_GBps);
  EXPECT_EQ(mine->others().front().source, mine->key_of({0}));
  EXPECT_THAT(theirs->others(), IsEmpty());
}

TEST_F(Ledger, AKilledProcessTakesNothing) {
  const auto mine = open_ledger();
  Child other([&] {
    auto* theirs = new NodeLedger(folder_, machine_, names());
    theirs->publish({running(*theirs, 3600)});
  });
  EXPECT_THAT(mine->others(), SizeIs(1));

  other.end();

  EXPECT_THAT(mine->others(kMuchLater), IsEmpty());
}

// More processes than there are slots, one after the other.
TEST_F(Ledger, SlotsOfKilledProcessesAreUsedAgain) {
  for (std::size_t i = 0; i < NodeLedger::kMostProcesses + 4; ++i)
    Child([&] { new NodeLedger(folder_, machine_, names()); });

  EXPECT_EQ(NodeLedger(folder_, machine_, names()).problem(), "");
}

TEST_F(Ledger, AForkedChildNeitherWritesNorReadsItsParentsSlot) {
  const auto mine = open_ledger(), theirs = open_ledger();
  theirs->publish({running(*theirs)});

  const Child child([&] {
    theirs->publish({});
    if (!mine->others().empty()) _exit(1);
  });

  EXPECT_TRUE(child.worked());
  EXPECT_THAT(mine->others(), SizeIs(1));
}

// GPUs are told apart by node-wide names: what this process calls gpu1 another calls gpu0.
TEST_F(Ledger, ProcessesMaySeeGpusUnderOtherNumbers) {
  std::vector<std::string> swapped = names();
  std::swap(swapped[0], swapped[1]);
  const auto mine = open_ledger();
  NodeLedger theirs(folder_, machine_, swapped);

  theirs.publish({running(theirs)});

  EXPECT_EQ(mine->others().at(0).source, mine->key_of({1}));
}

TEST_F(Ledger, MoreThanFitAreTheLatest) {
  const auto mine = open_ledger(), theirs = open_ledger();
  std::vector<LedgerEntry> many;
  for (std::size_t i = 0; i < NodeLedger::kMostEntries + 3; ++i) {
    many.push_back(running(*theirs));
    many.back().bytes = i;
  }

  theirs->publish(many);

  ASSERT_THAT(mine->others(), SizeIs(NodeLedger::kMostEntries));
  EXPECT_EQ(mine->others().back().bytes, NodeLedger::kMostEntries + 2);
}

// Every entry of one publication has the same bytes: a reader that sees two of them is wrong.
TEST_F(Ledger, ReadersNeverSeeHalfOfWhatIsWritten) {
  const auto mine = open_ledger(), theirs = open_ledger();
  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (std::uint64_t i = 0; !over; ++i) {
      LedgerEntry entry = running(*theirs);
      entry.bytes = i;
      theirs->publish(std::vector<LedgerEntry>(NodeLedger::kMostEntries, entry));
    }
  });

  int seen = 0, torn = 0;
  for (int looks = 0; seen < 50'000 && looks < 5'000'000; ++looks) {
    const auto entries = mine->others();
    if (entries.empty()) continue;
    ++seen;
    for (const LedgerEntry& entry : entries) torn += entry.bytes != entries.front().bytes ? 1 : 0;
  }
  over = true;
  writer.join();

  EXPECT_GT(seen, 0);
  EXPECT_EQ(torn, 0);
}

TEST_F(Ledger, WhereThereIsNoFolderItSaysSo) {
  NodeLedger ledger("", machine_, names());

  EXPECT_NE(ledger.problem(), "");
  ledger.publish({running(ledger)});
  EXPECT_THAT(ledger.others(), IsEmpty());
}

// --- load trackers of two processes ---

// The ledger's clock stands still, for a test may last longer than a transfer is expected to.
class Trackers : public Ledger {
 protected:
  std::unique_ptr<NodeLedger> ledger_that_stands_still() const {
    return std::make_unique<NodeLedger>(folder_, machine_, names(), [] { return 1000.0; });
  }
  PlanPointer plan(PlaceId from, PlaceId to) { return planner_.plan(from, to, 64_MiB); }
  TransferRequest asked(PlaceId from, PlaceId to) { return {{7}, from, to, 64_MiB}; }

  Planner planner_{machine_, Settings{}};
  LoadTracker mine_{machine_, ledger_that_stands_still()};
  LoadTracker theirs_{machine_, ledger_that_stands_still()};
};

TEST_F(Trackers, TransfersOfOtherProcessesAreACrowd) {
  theirs_.add({1}, plan({2}, {3}), {});

  const Contention contention = mine_.contention_of(asked({0}, {1}), {});

  EXPECT_FALSE(contention.foreign_load.empty());
  EXPECT_TRUE(contention.load.empty());
  EXPECT_EQ(contention.both_ways, BothWays::no);
}

// On beluga every plan from gpu0 to gpu1 over several paths goes through gpu2 or gpu3 as well.
TEST_F(Trackers, APlanLacksRoomWhereACrowdUsesTheSame) {
  PlanOptions native;
  native.executor = Executor::native;
  theirs_.add({1}, planner_.plan({0}, {2}, 64_MiB, native), {});
  const Contention contention = mine_.contention_of(asked({0}, {1}), {});

  EXPECT_TRUE(mine_.lacks_room(*plan({0}, {1}), contention.foreign_load));
  EXPECT_FALSE(mine_.lacks_room(*planner_.plan({0}, {1}, 64_MiB, native), contention.foreign_load));
  EXPECT_FALSE(mine_.lacks_room(*plan({0}, {1}), {}));
}

TEST_F(Trackers, OnesTheSameWayAreNoCrowd) {
  theirs_.add({1}, plan({0}, {1}), {});

  const Contention contention = mine_.contention_of(asked({0}, {1}), {});

  EXPECT_TRUE(contention.foreign_load.empty());
  EXPECT_EQ(contention.both_ways, BothWays::no);
}

TEST_F(Trackers, OneTheOtherWayIsPlannedForAsBothWays) {
  theirs_.add({1}, plan({1}, {0}), {});

  const Contention contention = mine_.contention_of(asked({0}, {1}), {});

  EXPECT_EQ(contention.both_ways, BothWays::by_processes);
  EXPECT_TRUE(contention.load.empty());
}

// What is queued behind the first is in flight as well.
TEST_F(Trackers, AQueueIsInFlightFromItsFirstTransferToItsLast) {
  for (int i = 0; i < 3; ++i) theirs_.add({1}, plan({1}, {0}), {});

  const Contention contention = mine_.contention_of(asked({0}, {1}), {});

  EXPECT_TRUE(contention.meets_way_back);
}

TEST_F(Trackers, WhatTurnsOutToBeOverIsOverForOthers) {
  for (int i = 0; i < 3; ++i) theirs_.add({1}, plan({2}, {3}), {});
  theirs_.add({2}, plan({3}, {1}), {});
  const auto load_beside = [&] {
    Load load = mine_.contention_of(asked({0}, {1}), 1_us).foreign_load;
    return std::accumulate(load.begin(), load.end(), 0.0,
                           [](double sum, auto each) { return sum + each.value; });
  };

  const double before = load_beside();
  theirs_.note_idle([](StreamHandle each, std::thread::id) { return each == StreamHandle{1}; },
                    theirs_.newest(), 1_us);
  const double between = load_beside();
  theirs_.note_idle([](StreamHandle, std::thread::id) { return true; }, theirs_.newest(), 1_us);

  EXPECT_LT(between, before);
  EXPECT_GT(between, 0);
  EXPECT_EQ(load_beside(), 0);
}

// Another stream's transfer of the same way goes on.
TEST_F(Trackers, AWayIsOverForOthersWithItsLastStream) {
  theirs_.add({1}, plan({1}, {0}), {});
  theirs_.add({2}, plan({1}, {0}), {});

  theirs_.note_idle([](StreamHandle each, std::thread::id) { return each == StreamHandle{2}; },
                    theirs_.newest(), 1_us);
  const bool goes_on = mine_.contention_of(asked({0}, {1}), 1_us).meets_way_back;
  theirs_.note_idle([](StreamHandle, std::thread::id) { return true; }, theirs_.newest(), 1_us);

  EXPECT_TRUE(goes_on);
  EXPECT_FALSE(mine_.contention_of(asked({0}, {1}), 1_us).meets_way_back);
}

// --- an engine beside another process ---

class BesideOthers : public Ledger {
 protected:
  // From gpu0 to gpu2, for a second and more.
  std::unique_ptr<LoadTracker> another_process_at_work() {
    PlanOptions native;
    native.executor = Executor::native;
    auto others = std::make_unique<LoadTracker>(machine_, open_ledger());
    others->add({1}, planner_.plan({0}, {2}, 128_GiB, native), {});
    return others;
  }
  Executor copy() { return engine_.copy(call_).executor; }

  Planner planner_{machine_, Settings{}};
  Rig rig_{machine_, Settings{}};
  StreamHandle stream_ = rig_.stream("gpu0");
  Buffer& source_ = rig_.buffer("gpu0", 4 << 20);
  Buffer& destination_ = rig_.buffer("gpu1", 4 << 20);
  CopyCall call_ = rig_.call(destination_, 0, source_, 0, 4 << 20, stream_);
  Engine engine_{rig_.driver(), machine_, Settings{},
                 std::make_shared<LoadTracker>(machine_, open_ledger())};
};

TEST_F(BesideOthers, ItGivesWay) {
  const auto others = another_process_at_work();

  EXPECT_EQ(copy(), Executor::native);
}

TEST_F(BesideOthers, ItGivesWayOnlyAsLongAsTheyAreThere) {
  auto others = another_process_at_work();
  EXPECT_EQ(copy(), Executor::native);
  rig_.synchronize();
  others.reset();

  EXPECT_EQ(copy(), Executor::stream);
}

}  // namespace
}  // namespace polypath::test::node_ledger_test
