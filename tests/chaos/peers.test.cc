// Copies between two GPUs that are held, and what they hold up with peer access and without. As
// seen on H200, driver 580.

#include "chaos/chaotic_program.h"

namespace polypath::test::peers_test {
namespace {

class ChaosPeers : public Chaos {
 protected:
  // Runs the program without peer access and with it. What comes behind a gate in the stream of
  // GPU 0 is a copy to GPU 1; 0: beside it things go on, 1: they wait for the gate.
  int beside(bool access, const std::function<void()>& go_on) {
    return run(1, [&] {
      Gate gate;
      const DevicePointer from = filled(kSmall, 1), to = filled(kSmall, 2, 1);
      if (access) EXPECT_EQ(cu("cuCtxEnablePeerAccess", contexts_[1], 0U), 0);
      const StreamPointer held = stream();
      gate.close(held);
      copy(to, from, kSmall, held);
      gate.open_later();
      go_on();
      const bool waited = gate.is_open();
      finish(held);
      return waited ? 1 : 0;
    });
  }
  void copy_between(int issuer) {
    const DevicePointer there = filled(kSmall, 3, 1), here = filled(kSmall, 4);
    const StreamPointer own = stream_of(issuer);
    copy(here, there, kSmall, own);
    finish(own);
  }
};

TEST_F(ChaosPeers, WithoutAccessAHeldCopyHoldsUpOthersOfItsGpuBetweenTheTwo) {
  EXPECT_EQ(beside(false, [&] { copy_between(0); }), 1);
  EXPECT_EQ(beside(false, [&] { copy_between(1); }), 0);
  EXPECT_EQ(beside(true, [&] { copy_between(0); }), 0);
}

TEST_F(ChaosPeers, WithoutAccessThePeersContextWaitsForIt) {
  const auto synchronise = [&] {
    use(1);
    EXPECT_EQ(cu("cuCtxSynchronize"), 0);
  };
  EXPECT_EQ(beside(false, synchronise), 1);
  EXPECT_EQ(beside(true, synchronise), 0);
}

TEST_F(ChaosPeers, WithoutAccessFreeingThePeersMemoryWaitsForIt) {
  const auto give_back = [&] { EXPECT_EQ(cu("cuMemFree_v2", filled(kSmall, 5, 1)), 0); };
  EXPECT_EQ(beside(false, give_back), 1);
  EXPECT_EQ(beside(true, give_back), 0);
}

TEST_F(ChaosPeers, OtherCopiesGoOn) {
  EXPECT_EQ(beside(false,
                   [&] {
                     const DevicePointer third = filled(kSmall, 3, 2), own = filled(kSmall, 4);
                     const StreamPointer other = stream();
                     const void* host = pinned(kSmall);
                     copy(third, own, kSmall, other);
                     copy(own, filled(kSmall, 5), kSmall, other);
                     EXPECT_EQ(cu("cuMemcpyHtoDAsync_v2", own, host, kSmall, other), 0);
                     finish(other);
                   }),
            0);
}

}  // namespace
}  // namespace polypath::test::peers_test
