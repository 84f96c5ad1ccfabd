// What others take of the machine, in steps.

#include "plan/load.h"

#include <gmock/gmock.h>

#include "support/layers.h"

namespace polypath::test::load_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<Capacity> kCapacities{16_GBps, 16_GBps, 32_GBps};

TEST(LoadSignature, CountsSixteenthsRoundedUp) {
  const Load load{0.1_GBps, 8_GBps, 2.1_GBps};

  EXPECT_THAT(signature_of(load, kCapacities), ElementsAre(1, 8, 2));
}

TEST(LoadSignature, OfNothingIsEmpty) {
  EXPECT_THAT(signature_of(Load(3), kCapacities), IsEmpty());
  EXPECT_THAT(signature_of({}, kCapacities), IsEmpty());
}

}  // namespace
}  // namespace polypath::test::load_test
