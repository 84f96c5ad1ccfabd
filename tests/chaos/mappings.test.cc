// Memory at virtual addresses, in pieces side by side: kernels and copies find one range.

#include <sstream>

#include "chaos/chaotic_program.h"
#include "standin/mapped_pieces.h"
#include "standin/peer.h"
#include "standin/reduce_kernel.h"
#include "support/layers.h"

namespace polypath::test::mappings_test {
namespace {

constexpr std::size_t kUnit = MappedPieces::kUnit;

class ChaosPieces : public Chaos {
 protected:
  /// Three pieces, of which the second is the largest.
  static MappedPieces three() {
    MappedPieces pieces(4 * kUnit);
    pieces.map(0, kUnit, MappedPieces::make(kUnit));
    pieces.map(kUnit, 2 * kUnit, MappedPieces::make(2 * kUnit));
    pieces.map(3 * kUnit, kUnit, MappedPieces::make(kUnit));
    EXPECT_EQ(pieces.result(), 0);
    return pieces;
  }
  static Contents sum(const Contents& a, const Contents& b) {
    Contents sum(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) sum[i] = static_cast<unsigned char>(a[i] + b[i]);
    return sum;
  }
};

TEST_F(ChaosPieces, AreOneRangeForAKernel) {
  EXPECT_TRUE(always(0, [&] {
    constexpr std::size_t kBytes = 3 * kUnit + 5;
    const DevicePointer to = three().begin() + 3, first = three().begin() + kUnit - 7,
                        second = device(pattern(kBytes, 2));
    const Contents bytes = pattern(kBytes, 1);
    write(first, bytes);
    finish(nullptr);
    const StreamPointer queue = stream();

    EXPECT_EQ(add_up({to, first, second}, kBytes, queue), 0);
    finish(queue);

    EXPECT_TRUE(same_bytes(read(to, kBytes), sum(bytes, pattern(kBytes, 2))));
    return 0;
  }));
}

TEST_F(ChaosPieces, AreOneRangeForACopyOfAGraph) {
  EXPECT_TRUE(always(0, [&] {
    constexpr std::size_t kBytes = 3 * kUnit + 5;
    const DevicePointer to = three().begin() + 3, from = three().begin() + kUnit - 7;
    const Contents bytes = pattern(kBytes, 1);
    const StreamPointer queue = stream();
    cuda::GraphPointer graph = nullptr;
    cuda::GraphExecPointer executable = nullptr;
    EXPECT_EQ(cu("cuStreamBeginCapture_v2", queue, 2), 0);
    copy(to, from, kBytes, queue);
    EXPECT_EQ(cu("cuStreamEndCapture", queue, &graph), 0);
    EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &executable, graph, 0ULL), 0);
    write(from, bytes);
    finish(nullptr);

    EXPECT_EQ(cu("cuGraphLaunch", executable, queue), 0);
    finish(queue);

    EXPECT_TRUE(same_bytes(read(to, kBytes), bytes));
    return 0;
  }));
}

// Of what is not pinned: the last part alone would be read by the call, and the others later.
TEST_F(ChaosPieces, AreWrittenBeforeTheSourceIsUsedAgain) {
  EXPECT_TRUE(always(0, [&] {
    constexpr std::size_t kBytes = kUnit / 2 + 5;
    const DevicePointer to = three().begin() + kUnit / 2;
    const StreamPointer queue = stream();
    Contents bytes = pattern(kBytes, 1);
    const void* from = bytes.data();
    Gate gate;
    gate.close(queue);
    gate.open_later();

    EXPECT_EQ(cu("cuMemcpyHtoDAsync_v2", to, from, kBytes, queue), 0);
    std::fill(bytes.begin(), bytes.end(), 0);
    finish(queue);

    EXPECT_TRUE(same_bytes(read(to, kBytes), pattern(kBytes, 1)));
    return 0;
  }));
}

TEST_F(ChaosPieces, ThatAreMappedAnewLeaveTheOthersAsTheyAre) {
  run(1, [&] {
    MappedPieces pieces = three(), elsewhere(2 * kUnit);
    const std::uint64_t gone = MappedPieces::make(2 * kUnit);
    pieces.unmap(kUnit, 2 * kUnit);
    pieces.map(kUnit, 2 * kUnit, gone);
    const Contents before = pattern(4 * kUnit, 1), middle = pattern(2 * kUnit, 2);
    write(pieces.begin(), before);

    pieces.unmap(kUnit, 2 * kUnit);
    pieces.map(kUnit, kUnit, MappedPieces::make(kUnit));
    pieces.map(2 * kUnit, kUnit, MappedPieces::make(kUnit));
    elsewhere.map(0, 2 * kUnit, gone);
    write(pieces.begin() + kUnit, middle);
    const DevicePointer to = device(4 * kUnit);
    EXPECT_EQ(add_up({to, pieces.begin()}, 4 * kUnit, nullptr), 0);

    Contents now = before;
    std::copy(middle.begin(), middle.end(), now.begin() + kUnit);
    EXPECT_TRUE(same_bytes(read(to, 4 * kUnit), now));
    const auto old = before.begin() + kUnit;
    EXPECT_TRUE(same_bytes(read(elsewhere.begin(), 2 * kUnit), Contents(old, old + 2 * kUnit)));
    EXPECT_EQ(pieces.result(), 0);
    return 0;
  });
}

// A kernel that reaches beyond what is mapped ends the program, as an error of the GPU would.
TEST_F(ChaosPieces, EndWhereNothingIsMapped) {
  Peer peer({"STANDIN_CHAOS=1"});
  peer.ask("init");
  peer.ask("device 0");
  std::istringstream mapped(peer.ask("map 0 2"));
  DevicePointer begin = 0;
  mapped >> begin;
  const std::string memory = peer.ask("alloc 8000000");

  EXPECT_EQ(peer.ask("copy_by_kernel " + memory + " " + std::to_string(begin) + " 4194304"), "ok");
  EXPECT_EQ(peer.ask("copy_by_kernel " + memory + " " + std::to_string(begin) + " 4194305"), "");
}

TEST_F(ChaosPieces, AreOneRangeInAnotherProcess) {
  Peer owner({"STANDIN_CHAOS=1"}), other({"STANDIN_CHAOS=2"});
  for (Peer* peer : {&owner, &other}) ASSERT_EQ(peer->ask("init"), "ok");
  ASSERT_EQ(owner.ask("device 0"), "ok");
  ASSERT_EQ(other.ask("device 1"), "ok");
  const std::string answer = owner.ask("map 0 3"), memory = answer.substr(0, answer.find(' '));
  const std::string mapped = other.ask("map_files" + answer.substr(answer.find(' ')));
  const std::string own = other.ask("alloc 6000000");
  other.ask("write " + own + " 6000000 7");

  EXPECT_EQ(other.ask("copy_by_kernel " + mapped + " " + own + " 6000000"), "ok");

  EXPECT_EQ(owner.ask("check " + memory + " 6000000 7"), "same");
}

}  // namespace
}  // namespace polypath::test::mappings_test
