// Parcels of one block of each rank, call after call (kernels/laps.h), in all orders in which their
// senders and takers can go on: each parcel is taken in before another one lies in its place.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <memory>

#include "kernels/laps.h"
#include "support/interleavings.h"
#include "support/sanitizers.h"

namespace polypath::test::mail_laps_test {
namespace {

struct Shape {
  std::string name;
  std::uint64_t parcels, slots;
  unsigned phases;
  int calls;
  bool all_send;  ///< else the last rank sends flags alone, so that the others are far ahead
  bool alternate = false;
};

/// What lies in the boxes of one rank, from the only other one.
struct Box {
  std::vector<unsigned> parcel, lap;  ///< by place of both halves: whose number, and its flag
};

/// One block of each of two ranks. Two kinds of warps of a block do one step together: sending ones
/// with the saying one, and the watching one with taking ones.
class TwoBlocks {
 public:
  explicit TwoBlocks(const Shape& shape)
      : shape_(shape), laps_(Laps::of(shape.parcels, shape.slots, 1)) {
    laps_.phases = shape.phases, laps_.alternate = shape.alternate;
    for (Box& box : boxes_) box.parcel.resize(2 * laps_.rows), box.lap.resize(2 * laps_.rows);
  }

  // All calls of a rank, each after the one before is over.
  void send(std::size_t rank) {
    for (unsigned call = 0; call < calls(); ++call) {
      await([&, call] { return taken_[rank] == call * numbers(); });
      laps_of(call).for_all([&, call](const LapStep& step) {
        const unsigned before = call * numbers() + laps_.taken_before(step);
        await([&, before] { return taken_[rank] >= before; });
        polypath::test::step();
        Box& box = boxes_[1 - rank];
        if (shape_.all_send || rank == 0) box.parcel[place(step)] = number_of(call, step);
        box.lap[place(step)] = step.lap;
        ++sent_[rank];
      });
    }
  }
  void take(std::size_t rank) {
    for (unsigned call = 0; call < calls(); ++call)
      laps_of(call).for_all([&, call](const LapStep& step) {
        const Box& box = boxes_[rank];
        const unsigned number = number_of(call, step);
        await([&, number] { return sent_[rank] >= number && box.lap[place(step)] == step.lap; });
        polypath::test::step();
        const bool is_sent = shape_.all_send || rank == 1;
        if (is_sent && box.parcel[place(step)] != number && wrong_.empty())
          wrong_ = fmt::format("rank {} finds parcel {} where {} should be", rank,
                               box.parcel[place(step)], number);
        ++taken_[rank];
      });
  }

  [[nodiscard]] std::string wrong() const { return wrong_; }
  [[nodiscard]] std::uint64_t fingerprint() const {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    const auto add = [&](unsigned value) { hash = (hash ^ value) * 0x100000001b3; };
    for (const Box& box : boxes_) {
      for (const unsigned each : box.parcel) add(each);
      for (const unsigned each : box.lap) add(each);
    }
    for (const auto& counts : {sent_, taken_})
      for (const unsigned each : counts) add(each);
    return hash;
  }

 private:
  [[nodiscard]] unsigned calls() const { return static_cast<unsigned>(shape_.calls); }
  [[nodiscard]] unsigned numbers() const { return laps_.count() * laps_.rows; }
  [[nodiscard]] Laps laps_of(unsigned call) const {
    Laps laps = laps_;
    laps.first = 1 + call * laps_.count();
    return laps;
  }
  [[nodiscard]] unsigned number_of(unsigned call, const LapStep& step) const {
    return call * numbers() + step.number;
  }
  [[nodiscard]] std::size_t place(const LapStep& step) const {
    return step.lap % 2 * laps_.rows + static_cast<std::size_t>(step.slot);
  }

  Shape shape_;
  Laps laps_;
  std::array<Box, 2> boxes_;
  std::array<unsigned, 2> sent_{}, taken_{};  ///< by rank, in all calls
  std::string wrong_;
};

Interleavings all_orders_of(const Shape& shape) {
  return go_through_all_orders([shape] {
    auto blocks = std::make_shared<TwoBlocks>(shape);
    Interleaved run{.ends = {},
                    .wrong = [=] { return blocks->wrong(); },
                    .shared = [=] { return blocks->fingerprint(); }};
    for (std::size_t rank = 0; rank < 2; ++rank) {
      run.ends.emplace_back([=] { blocks->send(rank); });
      run.ends.emplace_back([=] { blocks->take(rank); });
    }
    return run;
  });
}

class MailLaps : public testing::TestWithParam<Shape> {};

INSTANTIATE_TEST_SUITE_P(Of, MailLaps,
                         testing::Values(Shape{"one_lap", 2, 2, 1, 4, true},
                                         Shape{"one_lap_one_way", 2, 2, 1, 4, false},
                                         Shape{"full_laps", 4, 2, 1, 3, true},
                                         Shape{"a_part_of_the_last_lap", 5, 2, 1, 2, true},
                                         Shape{"a_part_one_way", 5, 2, 1, 2, false},
                                         Shape{"shared_in_one_lap", 2, 2, 2, 3, true},
                                         Shape{"shared_in_laps", 3, 2, 2, 2, true},
                                         Shape{"shared_in_laps_one_way", 3, 2, 2, 2, false},
                                         Shape{"in_turn", 3, 2, 2, 2, true, true},
                                         Shape{"in_turn_one_way", 3, 2, 2, 2, false, true}),
                         [](const auto& info) { return info.param.name; });

TEST_P(MailLaps, TakeEachParcelInBeforeTheNextOneLiesThere) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer does not follow from stack to stack";

  const Interleavings found = all_orders_of(GetParam());

  EXPECT_EQ(found.wrong, "");
  EXPECT_GT(found.states, 100U);
}

// What is shared in the second phase has been taken in before.
void expect_had_before_it_is_shared(Laps laps) {
  std::vector<LapStep> made;
  laps.for_all([&](const LapStep& step) {
    if (step.phase == 0) return made.push_back(step);
    const auto before = [&](const LapStep& each) {
      return each.parcel == step.parcel && each.number <= laps.taken_before(step);
    };
    EXPECT_TRUE(std::ranges::any_of(made, before)) << "step " << step.number;
  });
}

TEST(Laps, HaveWhatIsSharedBeforeItIsSent) {
  for (std::uint64_t parcels = 1; parcels <= 40; ++parcels)
    for (std::uint64_t slots = 3; slots <= 12; ++slots)
      for (const bool alternate : {false, true}) {
        SCOPED_TRACE(fmt::format("{} parcels, {} slots", parcels, slots));
        Laps laps = Laps::of(parcels, slots, 3);
        laps.phases = 2, laps.block = 1, laps.alternate = alternate;

        expect_had_before_it_is_shared(laps);
      }
}

// What is collected lies where a root's message has lain, until the root writes there again: not
// before it has taken in what was collected.
TEST(Laps, LeaveWhatIsCollectedUntilTheRootHasIt) {
  Laps laps = Laps::of(30, 6, 3);
  laps.phases = 2, laps.alternate = true;
  std::map<std::pair<std::uint64_t, std::uint64_t>, LapStep> lying;  // by half and slot
  laps.for_all([&](const LapStep& step) {
    const auto place = std::pair{step.lap & 1, step.slot};
    if (step.phase == 1) {
      const LapStep& made = lying.at({(step.lap - 1) & 1, step.slot});
      EXPECT_EQ(made.parcel, step.parcel);
      EXPECT_EQ(made.lap, step.lap - 1);
      lying[{(step.lap - 1) & 1, step.slot}] = step;
    } else {
      if (lying.contains(place)) EXPECT_GE(laps.taken_before(step), lying[place].number);
      lying[place] = step;
    }
  });
}

}  // namespace
}  // namespace polypath::test::mail_laps_test
