// Copies between two GPUs that are held, and what they hold up with peer access and without. As
// seen on H200, driver 580.

#include "chaos/chaotic_program.h"
#include "support/layers.h"

namespace polypath::test::peers_test {
namespace {

class ChaosPeers : public Chaos {
 protected:
  enum class Beside { waits, goes_on };
  // Runs the program with peer access or without. What comes behind a gate in the stream of GPU 0
  // is a copy to GPU 1. What goes on beside it needs no open gate: else it hangs, which is seen.
  void beside(bool access, Beside expected, const std::function<void()>& go_on) {
    run(1, [&] {
      Gate gate;
      const DevicePointer from = filled(kSmall, 1), to = filled(kSmall, 2, 1);
      if (access) EXPECT_EQ(cu("cuCtxEnablePeerAccess", contexts_[1], 0U), 0);
      const StreamPointer held = stream();
      gate.close(held);
      copy(to, from, kSmall, held);
      if (expected == Beside::waits) gate.open_later();
      go_on();
      EXPECT_EQ(gate.is_open(), expected == Beside::waits);
      if (expected == Beside::goes_on) gate.open();
      finish(held);
      return 0;
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
  beside(false, Beside::waits, [&] { copy_between(0); });
  beside(false, Beside::goes_on, [&] { copy_between(1); });
  beside(true, Beside::goes_on, [&] { copy_between(0); });
}

TEST_F(ChaosPeers, WithoutAccessThePeersContextWaitsForIt) {
  const auto synchronise = [&] {
    use(1);
    EXPECT_EQ(cu("cuCtxSynchronize"), 0);
  };
  beside(false, Beside::waits, synchronise);
  beside(true, Beside::goes_on, synchronise);
}

TEST_F(ChaosPeers, WithoutAccessFreeingThePeersMemoryWaitsForIt) {
  const auto give_back = [&] { EXPECT_EQ(cu("cuMemFree_v2", filled(kSmall, 5, 1)), 0); };
  beside(false, Beside::waits, give_back);
  beside(true, Beside::goes_on, give_back);
}

TEST_F(ChaosPeers, OtherCopiesGoOn) {
  beside(false, Beside::goes_on, [&] {
    const DevicePointer third = filled(kSmall, 3, 2), own = filled(kSmall, 4);
    const StreamPointer other = stream();
    const void* host = pinned(kSmall);
    copy(third, own, kSmall, other);
    copy(own, filled(kSmall, 5), kSmall, other);
    EXPECT_EQ(cu("cuMemcpyHtoDAsync_v2", own, host, kSmall, other), 0);
    finish(other);
  });
}

}  // namespace
}  // namespace polypath::test::peers_test
