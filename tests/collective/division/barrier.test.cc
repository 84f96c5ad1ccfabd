// A barrier of ranks: what comes after it anywhere comes after what was before it everywhere.

#include "collective/division/barrier.h"

#include <gmock/gmock.h>

#include <cstring>

#include "collective/support/rank_group.h"
#include "collective/support/ranks.h"
#include "machine/load_machine.h"
#include "support/errors.h"
#include "support/random.h"

namespace polypath::test::barrier_test {
namespace {

RankPrograms barrier_of(const Machine& machine, const std::vector<PlaceId>& ranks,
                        Executor executor) {
  RankPrograms programs;
  for (RankPart& part : barrier_parts(machine, ranks, RankMemorySizes{}.flags_per_pair))
    programs.push_back(std::make_unique<RankProgram>(std::move(part), executor));
  return programs;
}

// Every rank writes its number into the next one's memory, late; after a barrier the next one
// passes it on, and after another one the first writes again. The driver reports as a race
// all that nothing orders.
class Round {
 public:
  Round(RankGroup& group, const std::vector<PlaceId>& ranks) : group_(group), ranks_(ranks) {
    for (const PlaceId rank : ranks) {
      own_.push_back(group.driver().allocate(rank, 4_B));
      got_.push_back(group.driver().allocate(rank, 4_B));
      kept_.push_back(group.driver().allocate(rank, 4_B));
    }
  }
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;
  ~Round() {
    for (const auto* memory : {&own_, &got_, &kept_})
      for (const Address each : *memory) group_.driver().free(each);
  }

  void enqueue(int rank, const RankPrograms& barrier, Seconds later) {
    group_.enqueue(rank, barrier, {}, later);  // the next one may still be reading
    copy(rank, own_[at(rank)], rank, got_[at(next(rank))], next(rank));
    group_.enqueue(rank, barrier, {}, later);
    copy(rank, got_[at(rank)], rank, kept_[at(rank)], rank);
  }
  void say(int number) {
    for (int rank = 0; rank < group_.size(); ++rank) word(own_[at(rank)]) = number + rank;
  }
  void expect(int number) {
    for (int rank = 0; rank < group_.size(); ++rank)
      EXPECT_EQ(word(kept_[at(next(rank))]), number + rank) << "rank " << next(rank);
  }

 private:
  [[nodiscard]] static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  [[nodiscard]] int next(int rank) const { return (rank + 1) % group_.size(); }
  static int& word(Address address) { return *reinterpret_cast<int*>(address.value); }
  void copy(int by, Address source, int source_rank, Address destination, int destination_rank) {
    group_.driver().copy({.destination = destination,
                          .destination_place = ranks_[at(destination_rank)],
                          .source = source,
                          .source_place = ranks_[at(source_rank)],
                          .bytes = 4_B},
                         group_.stream_of(by));
  }

  RankGroup& group_;
  std::vector<PlaceId> ranks_;
  std::vector<Address> own_, got_, kept_;
};

class BarrierOf : public testing::TestWithParam<int> {};

TEST_P(BarrierOf, OrdersWhatIsBeforeAndAfterIt) {
  const Machine machine = load_machine("h200x8");
  const std::vector<PlaceId> ranks = first_gpus(machine, GetParam());
  for (const Executor executor : {Executor::stream, Executor::graph}) {
    Random random(5);
    RankGroup group(machine, ranks);
    const RankPrograms barrier = barrier_of(machine, ranks, executor);
    group.prepare(barrier);
    {
      Round round(group, ranks);
      round.say(100);

      for (int run = 0; run < 3; ++run)  // the host waits for none of them
        for (int rank = 0; rank < group.size(); ++rank)
          round.enqueue(rank, barrier, Seconds{random.integer(0, 200) * 1e-6});
      group.synchronize();

      round.expect(100);
      EXPECT_EQ(group.flags_set(), 0);
    }
    EXPECT_THAT(group.close(), testing::IsEmpty());
  }
}
INSTANTIATE_TEST_SUITE_P(Ranks, BarrierOf, testing::Values(2, 3, 5, 8));

// Between collectives the words that both use are set and cleared in turn.
TEST(Barrier, GoesBetweenCollectives) {
  const Machine machine = load_machine("h200x4");
  const std::vector<PlaceId> ranks = first_gpus(machine, 3);
  const CollectiveRequest request{.ranks = ranks, .elements = 1000};
  RankGroup group(machine, ranks);
  const RankPrograms sum =
      divide(machine, build(find_algorithm("flat"), machine, request, {}), ranks, Executor::stream);
  const RankPrograms barrier = barrier_of(machine, ranks, Executor::stream);
  group.prepare(sum);
  group.prepare(barrier);
  auto buffers = std::make_unique<RankBuffers>(group.driver(), request);
  buffers->fill();

  for (const RankPrograms* each : {&barrier, &sum, &barrier, &barrier, &sum})
    for (int rank = 0; rank < group.size(); ++rank)
      group.enqueue(rank, *each, each == &sum ? buffers->addresses() : std::vector<Address>{},
                    Seconds{rank * 50e-6});
  group.synchronize();

  EXPECT_TRUE(buffers->right());
  EXPECT_EQ(group.flags_set(), 0);
  buffers.reset();
  EXPECT_THAT(group.close(), testing::IsEmpty());
}

TEST(Barrier, NeedsTwoFlagsOfEachPair) {
  const Machine machine = load_machine("h200x4");

  expect_error(
      ErrorCode::unsupported, [&] { (void)barrier_parts(machine, first_gpus(machine, 2), 1); },
      "2 flags", "1 are kept");
}

}  // namespace
}  // namespace polypath::test::barrier_test
