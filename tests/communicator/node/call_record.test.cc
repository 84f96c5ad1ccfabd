#include "communicator/node/call_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/layers.h"

namespace polypath::test::call_record_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const CallRecord kCall{.operation = "reduce",
                       .type = "bfloat16",
                       .reduction = "max",
                       .algorithm = "tree",
                       .count = 7,
                       .digest = 5,
                       .root = 3,
                       .in_place = 1};

TEST(CallRecord, IsDescribedByWhatItHas) {
  EXPECT_EQ(describe(kCall), "reduce of 7 bfloat16 (max, root 3, in place, by tree)");
  EXPECT_EQ(describe({.operation = "barrier"}), "barrier");
  EXPECT_EQ(describe({.operation = "allgather", .type = "int8", .count = 0}),
            "allgather of 0 int8");
}

TEST(CallRecord, KeepsSixteenBytesOfAName) {
  EXPECT_EQ(ShortName("exactly16bytes..").text(), "exactly16bytes..");
  EXPECT_EQ(ShortName("exactly16bytes..and more"), ShortName("exactly16bytes.."));
}

TEST(CallRecord, ComesBackFromWords) { EXPECT_EQ(call_of(words_of(kCall)), kCall); }

struct Change {
  const char* field;
  void (*make)(CallRecord&);
};

class EveryField : public testing::TestWithParam<Change> {};

INSTANTIATE_TEST_SUITE_P(
    CallRecord, EveryField,
    testing::Values(Change{"operation", [](CallRecord& c) { c.operation = "broadcast"; }},
                    Change{"type", [](CallRecord& c) { c.type = "int8"; }},
                    Change{"reduction", [](CallRecord& c) { c.reduction = "min"; }},
                    Change{"algorithm", [](CallRecord& c) { c.algorithm = "ring"; }},
                    Change{"count", [](CallRecord& c) { c.count = 8; }},
                    Change{"counts or settings", [](CallRecord& c) { c.digest = 6; }},
                    Change{"root", [](CallRecord& c) { c.root = 2; }},
                    Change{"being in place", [](CallRecord& c) { c.in_place = 0; }}),
    [](const auto& field) {
      const std::string name = field.param.field;
      return name.substr(0, name.find(' '));
    });

TEST_P(EveryField, IsNamedWhereItDiffersAndIsInTheHash) {
  CallRecord other = kCall;
  GetParam().make(other);

  EXPECT_THAT(differences(kCall, other), ElementsAre(GetParam().field));
  EXPECT_THAT(differences(kCall, kCall), IsEmpty());
  EXPECT_NE(chain(1, words_of(kCall)), chain(1, words_of(other)));
}

TEST(CallRecord, HashesInTheirOrder) {
  const CallWords a = words_of(kCall), b = words_of({.operation = "barrier"});

  EXPECT_NE(chain(chain(0, a), b), chain(chain(0, b), a));
  EXPECT_EQ(chain(chain(0, a), b), chain(chain(0, a), b));
}

}  // namespace
}  // namespace polypath::test::call_record_test
