// Which copies of a set may run beside each other.

#include "engine/call/copy_set.h"

#include <gmock/gmock.h>

#include "engine/call/dependence.h"
#include "support/random.h"

namespace polypath::test::copy_set_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr StreamHandle kStream{7};
constexpr StreamHandle kOtherStream{8};
constexpr PlaceId kFirst{0}, kSecond{1}, kThird{2};

// Copies between memories of their own, unless a test says where.
class Sets : public testing::Test {
 protected:
  void add(PlaceId source, PlaceId destination, Bytes bytes = 4_MiB,
           StreamHandle stream = kStream) {
    const std::uint64_t next = (calls_.size() + 1) << 32;
    add_at({next}, {next + (1 << 30)}, source, destination, bytes, stream);
  }
  void add_at(Address to, Address from, PlaceId source, PlaceId destination, Bytes bytes,
              StreamHandle stream = kStream) {
    calls_.push_back({.destination = to, .source = from, .bytes = bytes, .stream = stream});
    ends_.push_back({.destination = destination, .source = source});
  }
  CopySet arranged() const {
    std::vector<SetMember> members;
    for (std::size_t i = 0; i < calls_.size(); ++i)
      members.push_back(
          {.call = calls_[i], .ends = ends_[i], .plannable = calls_[i].bytes >= 1_MiB});
    return arrange(members);
  }

  std::vector<std::size_t> issued(const IssueOrder& transfers) const {
    return order_of_calls(arranged(), calls_, transfers);
  }

  std::vector<CopyCall> calls_;
  std::vector<CopyEnds> ends_;
};

TEST_F(Sets, OnStreamsOfTheirOwnNeedNoBranch) {
  add(kFirst, kSecond, 4_MiB, kStream);
  add(kSecond, kFirst, 8_MiB, kOtherStream);

  const CopySet set = arranged();

  EXPECT_THAT(set.branches, IsEmpty());
  EXPECT_THAT(set.transfers, ElementsAre(JointTransfer{kFirst, kSecond, 4_MiB},
                                         JointTransfer{kSecond, kFirst, 8_MiB}));
  EXPECT_EQ(set.parts[1].transfer, 1U);
}

TEST_F(Sets, OfOneStreamBranchByTheirWays) {
  add(kFirst, kSecond);
  add(kFirst, kThird);
  add(kSecond, kThird);

  const CopySet set = arranged();

  ASSERT_THAT(set.branches, SizeIs(2));
  EXPECT_EQ(set.parts[0].branch, std::nullopt);
  EXPECT_EQ(set.parts[1].branch, 0U);
  EXPECT_EQ(set.parts[2].branch, 1U);
  EXPECT_EQ(set.branches[0].beside, kStream);
}

TEST_F(Sets, OfOneStreamAndWayStayInOrderAndShareAPlanIfTheyAreAsLarge) {
  add(kFirst, kSecond, 4_MiB);
  add(kFirst, kThird, 4_MiB);
  add(kFirst, kThird, 4_MiB);
  add(kFirst, kThird, 2_MiB);

  const CopySet set = arranged();

  EXPECT_THAT(set.transfers, SizeIs(2));
  EXPECT_EQ(set.parts[2].transfer, 1U);
  EXPECT_EQ(set.parts[2].branch, 0U);
  EXPECT_EQ(set.parts[3].transfer, std::nullopt);
  EXPECT_EQ(set.parts[3].branch, 0U);
}

TEST_F(Sets, ThatAreNotPlannableStayInTheirStream) {
  add(kFirst, kSecond, 512_B);
  add(kFirst, kSecond);

  const CopySet set = arranged();

  EXPECT_EQ(set.parts[0].transfer, std::nullopt);
  EXPECT_EQ(set.parts[1].transfer, 0U);
  EXPECT_THAT(set.branches, IsEmpty());
}

struct Dependence {
  const char* name;
  Address to;
  Address from;
};

class DependentSets : public Sets, public testing::WithParamInterface<Dependence> {};

// The first copy reads from 1 GiB on and writes from 2 GiB on.
INSTANTIATE_TEST_SUITE_P(
    OnTheFirst, DependentSets,
    testing::Values(Dependence{"reads_what_it_writes", {5ULL << 30}, {(2ULL << 30) + 100}},
                    Dependence{"writes_what_it_writes", {(2ULL << 30) - 100}, {5ULL << 30}},
                    Dependence{"writes_what_it_reads", {(1ULL << 30) + 100}, {5ULL << 30}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(DependentSets, RunInOrder) {
  add_at({2ULL << 30}, {1ULL << 30}, kFirst, kSecond, 4_MiB);
  add_at(GetParam().to, GetParam().from, kSecond, kThird, 4_MiB);

  const CopySet set = arranged();

  EXPECT_THAT(set.transfers, SizeIs(1));
  EXPECT_THAT(set.branches, IsEmpty());
  EXPECT_EQ(set.parts[1].transfer, std::nullopt);
}

// Even if the one in between is too small to be planned itself.
TEST_F(Sets, DoNotOvertakeASmallOneTheyDependOn) {
  add(kThird, kFirst);
  add_at({2ULL << 30}, {1ULL << 30}, kFirst, kSecond, 512_B);
  add_at({5ULL << 30}, {2ULL << 30}, kSecond, kThird, 4_MiB);

  EXPECT_THAT(arranged().branches, IsEmpty());
}

TEST_F(Sets, MayReadTheSameBytes) {
  add_at({2ULL << 30}, {1ULL << 30}, kFirst, kSecond, 4_MiB);
  add_at({3ULL << 30}, {1ULL << 30}, kFirst, kThird, 4_MiB);

  EXPECT_THAT(arranged().branches, SizeIs(1));
}

// The first copy reads 4 MiB, the second one the first 1 MiB of them, the third one writes behind
// that.
TEST_F(Sets, RunInOrderWhereOneWritesWhatALongReadBehindAShortOneReads) {
  add_at({2ULL << 30}, {1ULL << 30}, kFirst, kSecond, 4_MiB);
  add_at({3ULL << 30}, {1ULL << 30}, kFirst, kThird, 1_MiB);
  add_at({(1ULL << 30) + (2U << 20)}, {5ULL << 30}, kSecond, kFirst, 1_MiB);

  EXPECT_THAT(arranged().branches, IsEmpty());
}

// --- the order of issue ---

TEST_F(Sets, AreIssuedInTheOrderOfTheirTransfers) {
  add(kFirst, kSecond);
  add(kFirst, kThird);
  add(kSecond, kThird, 4_MiB, kOtherStream);

  EXPECT_THAT(issued({2, 0, 1}), ElementsAre(2, 0, 1));
}

TEST_F(Sets, ThatOnePlanMakesSeveralOfTakeTurns) {
  add(kFirst, kSecond);
  add(kFirst, kSecond);
  add(kFirst, kThird);
  add(kFirst, kThird);

  EXPECT_THAT(issued({1, 0}), ElementsAre(2, 0, 3, 1));
}

TEST_F(Sets, KeepTheOrderOfAStreamWhereOneIsNoTransfer) {
  add(kFirst, kSecond);
  add(kFirst, kSecond, 512_B);
  add(kFirst, kThird);
  add(kThird, kSecond, 512_B);

  EXPECT_THAT(issued({1, 0}), ElementsAre(2, 0, 1, 3));
}

TEST_F(Sets, IssueWhatIsNoTransferFirstInItsStream) {
  add(kFirst, kSecond, 4_MiB);
  add(kSecond, kFirst, 512_B, kOtherStream);
  add(kSecond, kFirst, 4_MiB, kOtherStream);

  EXPECT_THAT(issued({1, 0}), ElementsAre(1, 2, 0));
}

TEST_F(Sets, OfAnyKindKeepTheOrderOfEachStreamAndBranch) {
  Random random(9);
  for (int round = 0; round < 500; ++round) {
    calls_.clear(), ends_.clear();
    for (std::uint64_t left = random.between(2, 12); left > 0; --left) {
      const int source = random.integer(0, 2);
      add({source}, {(source + random.integer(1, 2)) % 3}, random.chance(30) ? 512_B : 4_MiB,
          random.chance(50) ? kStream : kOtherStream);
    }
    const CopySet set = arranged();
    IssueOrder transfers = order_asked_for(set.transfers.size());
    for (std::size_t k = transfers.size(); k > 1; --k)
      std::swap(transfers[k - 1], transfers[random.index(k)]);

    const std::vector<std::size_t> order = order_of_calls(set, calls_, transfers);

    EXPECT_THAT(order, testing::UnorderedElementsAreArray(order_asked_for(calls_.size())));
    for (std::size_t i = 0; i < order.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const auto stream = [&](std::size_t at) {
          return std::pair(calls_[order[at]].stream, set.parts[order[at]].branch);
        };
        EXPECT_TRUE(stream(i) != stream(j) || order[j] < order[i]) << "round " << round;
      }
  }
}

// --- dependence ---

// By definition: two copies share a byte that one of them writes.
bool share_a_written_byte(const CopyCall& one, const CopyCall& other) {
  const auto meet = [](Address a, Bytes of_a, Address b, Bytes of_b) {
    return of_a > 0_B && of_b > 0_B && a < b + of_b && b < a + of_a;
  };
  return meet(one.destination, one.bytes, other.destination, other.bytes) ||
         meet(one.destination, one.bytes, other.source, other.bytes) ||
         meet(one.source, one.bytes, other.destination, other.bytes);
}

// Ranges of any length at any place of a few hundred bytes: some within others, most beside them.
TEST(Dependence, OfAnyCopiesIsThatOfSomePair) {
  Random random(4);
  int dependent = 0;
  for (int number = 0; number < 20'000; ++number) {
    std::vector<CopyCall> calls(random.between(1, 5));
    for (CopyCall& call : calls) {
      call.bytes = {random.between(0, random.chance(30) ? 100 : 10)};
      call.source = {random.between(1, 300)};
      do call.destination = {random.between(1, 600)};
      while (overlaps_itself(call));
    }
    bool expected = false;
    for (std::size_t i = 0; i < calls.size(); ++i)
      for (std::size_t k = 0; k < i; ++k)
        expected = expected || share_a_written_byte(calls[i], calls[k]);

    ASSERT_EQ(depend_on_each_other(std::span<const CopyCall>(calls)), expected)
        << "number " << number;

    dependent += expected ? 1 : 0;
  }
  EXPECT_GT(dependent, 5000);
  EXPECT_LT(dependent, 15'000);
}

}  // namespace
}  // namespace polypath::test::copy_set_test
