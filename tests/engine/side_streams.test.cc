// Streams beside the program's: whose they are, and when another one may have them.

#include "engine/execute/side_streams.h"

#include <gtest/gtest.h>

#include "support/held_stream.h"
#include "support/rig.h"

namespace polypath::test::side_streams_test {
namespace {

class Sides : public testing::Test {
 protected:
  // The side stream that a set beside the stream was lent, and gave back.
  SideStream* borrowed(StreamHandle stream) {
    const SideStreams::Lent lent = sides_.fork({{stream, gpu_}});
    sides_.join(lent);
    return lent.at(0);
  }

  Rig rig_{"beluga"};
  PlaceId gpu_ = rig_.machine().find_place("gpu0");
  StreamHandle one_ = rig_.stream("gpu0"), other_ = rig_.stream("gpu0");
  SideStreams sides_{rig_.driver()};
};

TEST_F(Sides, AreNotSharedByStreamsThatTheProgramHasNotOrdered) {
  const HeldStream held(rig_.driver(), one_, gpu_);

  SideStream* const of_one = borrowed(one_);

  EXPECT_NE(borrowed(other_), of_one);
}

TEST_F(Sides, AreLentAgainToTheSameStream) {
  const HeldStream held(rig_.driver(), one_, gpu_);

  SideStream* const first = borrowed(one_);

  EXPECT_EQ(borrowed(one_), first);
}

TEST_F(Sides, AreLentToOthersOnceWhatIsInThemIsDone) {
  HeldStream held(rig_.driver(), one_, gpu_);
  SideStream* const of_one = borrowed(one_);

  held.release();

  EXPECT_EQ(borrowed(other_), of_one);
}

TEST_F(Sides, OfOneSetAreSeveral) {
  const SideStreams::Lent lent = sides_.fork({{one_, gpu_}, {one_, gpu_}});
  sides_.join(lent);

  ASSERT_EQ(lent.size(), 2U);
  EXPECT_NE(lent[0], lent[1]);
}

}  // namespace
}  // namespace polypath::test::side_streams_test
