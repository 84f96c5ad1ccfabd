// How long memory, mappings and what names them live.

#include <array>

#include "chaos/chaotic_program.h"
#include "kernels/messages_layout.h"
#include "standin/peer.h"
#include "support/layers.h"

namespace polypath::test::memory_test {
namespace {

class ChaosMemory : public Chaos {
 protected:
  static std::uint64_t id_of(DevicePointer memory) {
    constexpr int kBufferId = 7;
    std::uint64_t id = 0;
    void* where = &id;
    EXPECT_EQ(cu("cuPointerGetAttribute", where, kBufferId, memory), 0);
    return id;
  }
};

TEST_F(ChaosMemory, AddressesAreUsedAgainButIdsAreNot) {
  run(1, [&] {
    const DevicePointer first = filled(3 * kPieces, 1);
    const std::uint64_t id = id_of(first);
    EXPECT_EQ(cu("cuMemFree_v2", first), 0);
    const DevicePointer second = filled(3 * kPieces - 5, 2, 1);

    EXPECT_EQ(second, first);
    EXPECT_NE(id_of(second), id);
    return 0;
  });
}

TEST_F(ChaosMemory, HandlesAreUsedAgain) {
  run(1, [&] {
    const StreamPointer first = stream();
    const EventPointer marker = event();
    EXPECT_EQ(cu("cuStreamDestroy_v2", first), 0);
    EXPECT_EQ(cu("cuEventDestroy_v2", marker), 0);

    EXPECT_EQ(stream(), first);
    EXPECT_EQ(event(), marker);
    return 0;
  });
}

// A graph names memory by its address: it writes to what lies there when it is launched.
TEST_F(ChaosMemory, AGraphWritesToWhatHasTakenThePlace) {
  run(1, [&] {
    const DevicePointer from = filled(kSmall, 7), gone = filled(kSmall, 1, 1);
    const StreamPointer queue = stream();
    cuda::GraphPointer graph = nullptr;
    cuda::GraphExecPointer executable = nullptr;
    EXPECT_EQ(cu("cuStreamBeginCapture_v2", queue, 2), 0);
    copy(gone, from, kSmall, queue);
    EXPECT_EQ(cu("cuStreamEndCapture", queue, &graph), 0);
    EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &executable, graph, 0ULL), 0);
    EXPECT_EQ(cu("cuMemFree_v2", gone), 0);
    const DevicePointer next = filled(kSmall, 2, 1);

    EXPECT_EQ(cu("cuGraphLaunch", executable, queue), 0);
    finish(queue);
    EXPECT_EQ(contents(next, 1)[0], 7);
    return 0;
  });
}

TEST_F(ChaosMemory, HostMemoryThatWorkStillUsesIsReported) {
  Peer peer({"STANDIN_CHAOS=1", "STANDIN_STRICT=1"});
  peer.ask("init");
  peer.ask("device 0");

  EXPECT_EQ(peer.ask("unregister_in_use"), "ok");

  EXPECT_EQ(peer.quit(), 86);
  EXPECT_NE(peer.complaints().find("use after free: 4 KiB at host0 freed"), std::string::npos)
      << peer.complaints();
}

// The kernel of messages waits for a message: it signals the other end first, and may then wait for
// long. The other end frees its flag once it has what it waited for.
TEST_F(ChaosMemory, AFlagMayBeFreedOnceItIsSignalled) {
  run(1, [&] {
    const DevicePointer own = filled(kSmall, 0), other = filled(kSmall, 0, 1);
    const StreamPointer queue = stream();
    void *module = nullptr, *function = nullptr;
    EXPECT_EQ(cu("cuModuleLoadData", &module, "messages"), 0);
    EXPECT_EQ(cu("cuModuleGetFunction", &function, module, "messages"), 0);
    std::array<std::uint64_t, wait_word(0, 1, 1)> words{};
    words[kMessageWaits] = 1, words[value_word(0)] = 1;
    words[state_word(1)] = own;
    words[wait_word(0, 1, 0) + kWaitSignal] = other;
    words[wait_word(0, 1, 0) + kWaitAwaited] = own + kSmall / 2;
    std::size_t bytes = sizeof words;
    std::array<void*, 5> extra{cuda::kParameterBuffer, words.data(), cuda::kParameterBufferSize,
                               &bytes, cuda::kParametersEnd};
    EXPECT_EQ(cu("cuLaunchKernel", function, 1U, 1U, 1U, 1U, 1U, 1U, 0U, queue,
                 static_cast<void**>(nullptr), extra.data()),
              0);
    while (contents(other, 1)[0] == 0) continue;

    EXPECT_EQ(cu("cuMemFree_v2", other), 0);

    fill(own + kSmall / 2, 1, 1, stream());
    finish(queue);
    return 0;
  });
}

class ChaosMappings : public testing::Test {
 protected:
  void SetUp() override {
    for (Peer* peer : {&exporter_, &importer_}) ASSERT_EQ(peer->ask("init"), "ok");
    ASSERT_EQ(exporter_.ask("device 0"), "ok");
    ASSERT_EQ(importer_.ask("device 1"), "ok");
    memory_ = exporter_.ask("alloc 3000000");
    exporter_.ask("write " + memory_ + " 3000000 1");
    ASSERT_EQ(exporter_.ask("check " + memory_ + " 3000000 1"), "same");  // it has arrived
    mapped_ = importer_.ask("open " + exporter_.ask("export " + memory_));
  }

  Peer exporter_{{"STANDIN_CHAOS=1"}}, importer_{{"STANDIN_CHAOS=2"}};
  std::string memory_, mapped_;
};

// As seen on H200, driver 580.
TEST_F(ChaosMappings, EndWithTheirContextAndTheirAddressIsGivenToTheNextAllocation) {
  const std::string id = importer_.ask("id " + mapped_);

  EXPECT_EQ(importer_.ask("release 1"), "ok");
  EXPECT_EQ(importer_.ask("id " + mapped_), "error 1");
  EXPECT_EQ(importer_.ask("device 0"), "ok");
  EXPECT_EQ(importer_.ask("alloc 2500000"), mapped_);

  EXPECT_NE(importer_.ask("id " + mapped_), id);
}

TEST_F(ChaosMappings, HoldGarbageOnceTheMemoryIsFreed) {
  EXPECT_EQ(importer_.ask("check " + mapped_ + " 3000000 1"), "same");

  EXPECT_EQ(exporter_.ask("free " + memory_), "ok");

  EXPECT_EQ(importer_.ask("check " + mapped_ + " 3000000 1"), "differs");
}

TEST_F(ChaosMappings, HaveNewIdsWhenTheyAreOpenedAnew) {
  const std::string handle = exporter_.ask("export " + memory_),
                    id = importer_.ask("id " + mapped_);

  EXPECT_EQ(importer_.ask("close " + mapped_), "ok");
  EXPECT_EQ(importer_.ask("open " + handle), mapped_);

  EXPECT_NE(importer_.ask("id " + mapped_), id);
}

}  // namespace
}  // namespace polypath::test::memory_test
