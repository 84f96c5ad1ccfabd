// Ranks try with bytes whether what they write into each other's memory arrives, and all of them
// get the same error if it does not, wherever it is lost.

#include "collective/rank/rank_trial.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "collective/division/projection.h"
#include "collective/support/ranks.h"
#include "communicator/communicator.h"
#include "core/error.h"
#include "driver/sim/sim_driver.h"
#include "machine/load_machine.h"
#include "support/forwarding_driver.h"

namespace polypath::test::rank_trial_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Knows whether a pair of GPUs was left out.
class Noting : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  void note_lost(PlaceId, PlaceId) override { has_lost_ = true; }
  [[nodiscard]] bool has_lost() const { return has_lost_; }

 private:
  std::atomic<bool> has_lost_ = false;
};

/// Drops, without an error, what copies bring to one place from another one.
class Dropping : public Noting {
 public:
  Dropping(Driver& real, PlaceId from, PlaceId to) : Noting(real), from_(from), to_(to) {}
  void copy(const CopyRequest& request, StreamHandle stream) override {
    if (request.source_place == from_ && request.destination_place == to_) return;
    ForwardingDriver::copy(request, stream);
  }

 private:
  PlaceId from_, to_;
};

/// Copies of a GPU to the host fail.
class Failing : public Noting {
 public:
  Failing(Driver& real, PlaceId gpu, PlaceId host) : Noting(real), gpu_(gpu), host_(host) {}
  void copy(const CopyRequest& request, StreamHandle stream) override {
    if (request.source_place == gpu_ && request.destination_place == host_)
      fail(ErrorCode::driver, "a copy has failed", "it had to", "");
    ForwardingDriver::copy(request, stream);
  }

 private:
  PlaceId gpu_, host_;
};

/// Opens no memory.
class Closed : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  Address import_memory(const ExportedMemory&, PlaceId) override {
    throw Error(ErrorCode::driver, "the driver says no");
  }
};

constexpr int kRanks = 3;

class RankTrial : public testing::Test {
 protected:
  explicit RankTrial(const std::string& machine = "h200x4") : driver_(load_machine(machine)) {}

  /// What each rank is told, all of them using `driver`; empty if nothing is wrong.
  std::vector<std::string> told(Driver& driver) {
    const Machine& machine = driver_.machine();
    auto ends = bootstrap_among_threads(kRanks);
    std::vector<std::string> told(kRanks);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < kRanks; ++rank)
      threads.emplace_back([&, rank] {
        Communicator communicator(std::move(ends[static_cast<std::size_t>(rank)]), {});
        try {
          try_rank_memory(driver, machine, gpus_, rank, flags_place(machine, gpus_, rank),
                          all_gather_by(communicator));
        } catch (const Error& error) {
          told[static_cast<std::size_t>(rank)] = error.what();
        }
        (void)communicator.all_gather({});
      });
    threads.clear();
    return told;
  }

  sim::SimDriver driver_;
  std::vector<PlaceId> gpus_ = first_gpus(driver_.machine(), kRanks);
};

TEST_F(RankTrial, SaysNothingWhereBytesArrive) {
  EXPECT_THAT(told(driver_), Each(IsEmpty()));

  EXPECT_THAT(driver_.violations(), IsEmpty());
  EXPECT_THAT(driver_.leaks(), IsEmpty());
}

TEST_F(RankTrial, NamesTwoRanksAtAllOfThemWhereOneWayIsLost) {
  for (const auto& [from, to] : {std::pair{0, 2}, {2, 0}, {1, 2}}) {
    Dropping dropping(driver_, gpus_[static_cast<std::size_t>(from)],
                      gpus_[static_cast<std::size_t>(to)]);

    EXPECT_THAT(told(dropping), Each(AllOf(HasSubstr("cannot exchange bytes"),
                                           HasSubstr(fmt::format("rank {} (", from)),
                                           HasSubstr(fmt::format("rank {} (", to)))));
    EXPECT_TRUE(dropping.has_lost());
  }
}

// Nothing is known then of what it would have written.
TEST_F(RankTrial, OfARankThatFailsSaysNothingOfOthers) {
  Failing failing(driver_, gpus_[1], driver_.machine().nearest_host(gpus_[1]));

  EXPECT_THAT(told(failing), ElementsAre(IsEmpty(), HasSubstr("a copy has failed"), IsEmpty()));
  EXPECT_FALSE(failing.has_lost());
  EXPECT_THAT(driver_.violations(), IsEmpty());
  EXPECT_THAT(driver_.leaks(), IsEmpty());
}

TEST_F(RankTrial, NamesTheRankWhoseMemoryCannotBeOpened) {
  Closed closed(driver_);

  const std::vector<std::string> all = told(closed);

  EXPECT_THAT(all, Each(HasSubstr("cannot be opened: the driver says no")));
  EXPECT_THAT(all[0], HasSubstr("memory of rank 1"));
  EXPECT_THAT(all[2], HasSubstr("memory of rank 0"));
}

/// GPUs that are nearest to different hosts, and keep their flags there.
class RankTrialOfHosts : public RankTrial {
 protected:
  RankTrialOfHosts() : RankTrial("mist") {}
};

TEST_F(RankTrialOfHosts, SaysNothingWhereBytesArrive) {
  ASSERT_NE(driver_.machine().nearest_host(gpus_[0]), driver_.machine().nearest_host(gpus_[2]));

  EXPECT_THAT(told(driver_), Each(IsEmpty()));

  EXPECT_THAT(driver_.violations(), IsEmpty());
  EXPECT_THAT(driver_.leaks(), IsEmpty());
}

// GPUs that do not reach each other keep their flags in the host's memory.
class RankTrialByHost : public RankTrial {
 protected:
  RankTrialByHost() : RankTrial("nop2p4") {}
};

TEST_F(RankTrialByHost, NamesRanksWhoseWordsToTheHostAreLost) {
  const PlaceId host = driver_.machine().nearest_host(gpus_[1]);
  Dropping dropping(driver_, gpus_[1], host);

  EXPECT_THAT(told(dropping), Each(HasSubstr("in memory of the host")));
  EXPECT_FALSE(dropping.has_lost());
}

TEST_F(RankTrialByHost, DoesNotOpenWhatCannotBeReached) {
  const PlaceId first = gpus_[0], second = gpus_[1];
  Dropping dropping(driver_, first, second);

  EXPECT_THAT(told(dropping), Each(IsEmpty()));
}

}  // namespace
}  // namespace polypath::test::rank_trial_test
