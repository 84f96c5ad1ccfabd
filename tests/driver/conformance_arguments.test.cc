// The conformance suite of conformance.h: what is refused, for drivers that look.

#include "driver/conformance.h"
#include "support/errors.h"

namespace polypath::test {
namespace {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DriverArguments);

TEST_P(DriverArguments, AllocationsNeedASizeAndAPlace) {
  expect_invalid_argument([&] { driver().allocate(gpu(), 0_B); }, "0 bytes");
  expect_invalid_argument([&] { driver().allocate(PlaceId{99}, 1_B); }, "99");
  expect_invalid_argument([&] { driver().allocate(PlaceId{}, 1_B); }, "-1");
}

TEST_P(DriverArguments, OnlyWhatAllocateReturnedIsFreedAndOnlyOnce) {
  const Address base = driver().allocate(gpu(), 4096_B);

  expect_invalid_argument([&] { driver().free({}); }, "allocation 0");
  expect_invalid_argument([&] { driver().free(base + 8_B); }, "does not exist");
  driver().free(base);
  expect_invalid_argument([&] { driver().free(base); }, std::to_string(base.value),
                          "has been destroyed");
}

TEST_P(DriverArguments, StreamsAndEventsBelongToGpus) {
  for (const auto& [place, named] : {std::pair{host(), machine().place(host()).name},
                                     {PlaceId{}, std::string("-1")},
                                     {PlaceId{99}, std::string("99")}}) {
    expect_invalid_argument([&, p = place] { driver().create_stream(p); }, named, "GPU");
    expect_invalid_argument([&, p = place] { driver().create_event(p); }, named, "GPU");
  }
}

TEST_P(DriverArguments, UnknownStreamsAreRefused) {
  const StreamHandle gone = driver().create_stream(gpu());
  const EventHandle recorded = event(gpu());
  const Address memory = allocate(gpu(), Bytes{kSmall});
  const GraphHandle one = graph({{request(memory, memory + 2048_B, 8), {}}});
  const std::string named = "stream " + std::to_string(gone.value);

  driver().destroy_stream(gone);

  expect_invalid_argument([&] { driver().destroy_stream(gone); }, named);
  expect_invalid_argument([&] { driver().record(recorded, gone); }, named);
  expect_invalid_argument([&] { driver().wait(gone, recorded); }, named);
  expect_invalid_argument([&] { driver().synchronize(gone); }, named);
  expect_invalid_argument([&] { (void)driver().is_capturing(gone); }, named);
  expect_invalid_argument([&] { driver().launch(one, gone); }, named);
  expect_invalid_argument([&] { copy(memory, memory + 2048_B, 8, gone); }, named);
}

TEST_P(DriverArguments, UnknownEventsAreRefused) {
  const StreamHandle queue = stream(gpu());
  const EventHandle gone = driver().create_event(gpu());
  const std::string named = "event " + std::to_string(gone.value);

  driver().destroy_event(gone);

  expect_invalid_argument([&] { driver().destroy_event(gone); }, named);
  expect_invalid_argument([&] { driver().record(gone, queue); }, named);
  expect_invalid_argument([&] { driver().wait(queue, gone); }, named);
  expect_invalid_argument([&] { (void)driver().is_done(gone); }, named);
  expect_invalid_argument([&] { (void)driver().elapsed(gone, gone); }, named);
  expect_invalid_argument([&] { driver().wait(queue, EventHandle{}); }, "event 0");
}

TEST_P(DriverArguments, AnEventIsRecordedByItsOwnGpu) {
  const StreamHandle queue = stream(gpu());
  const EventHandle elsewhere = event(peer());

  expect_invalid_argument([&] { driver().record(elsewhere, queue); },
                          "event " + std::to_string(elsewhere.value), machine().place(peer()).name,
                          machine().place(gpu()).name);
}

TEST_P(DriverArguments, UnknownGraphsAreRefused) {
  const Address memory = allocate(gpu(), Bytes{kSmall});
  const GraphHandle gone = driver().instantiate({{request(memory, memory + 2048_B, 8), {}}});
  const StreamHandle queue = stream(gpu());
  const std::string named = "graph " + std::to_string(gone.value);

  driver().destroy_graph(gone);

  expect_invalid_argument([&] { driver().destroy_graph(gone); }, named);
  expect_invalid_argument([&] { driver().launch(gone, queue); }, named);
  expect_invalid_argument([&] { driver().update_node(gone, 0, memory, memory); }, named);
}

TEST_P(DriverArguments, CopiesNeedBytesInLiveMemoryAtItsPlace) {
  const Address source = allocate(gpu(), Bytes{kSmall});
  const Address destination = allocate(peer(), Bytes{kSmall});
  const Address gone = driver().allocate(gpu(), Bytes{kSmall});
  const StreamHandle queue = stream(gpu());
  driver().free(gone);
  CopyRequest misplaced = request(destination, source, 8);
  misplaced.source_place = host();

  expect_invalid_argument([&] { copy(destination, source, 0, queue); }, "0 bytes");
  expect_invalid_argument([&] { copy(destination, {}, 8, queue); }, "source 0x0");
  expect_invalid_argument([&] { copy({}, source, 8, queue); }, "destination 0x0");
  expect_invalid_argument([&] { copy(destination, gone, 8, queue); }, "source", "freed");
  expect_invalid_argument([&] { copy(destination + 1_B, source, kSmall, queue); }, "destination",
                          "4095 bytes are left", "4096");
  expect_invalid_argument([&] { copy(destination, source + 96_B, kSmall, queue); }, "source",
                          "4000 bytes are left");
  expect_invalid_argument([&] { driver().copy(misplaced, queue); }, "source", "another place");
}

TEST_P(DriverArguments, CopiesDoNotOverlapThemselves) {
  const Address memory = allocate(gpu(), Bytes{kSmall});
  const StreamHandle queue = stream(gpu());

  expect_invalid_argument([&] { copy(memory, memory + 7_B, 8, queue); }, "overlap");
  expect_invalid_argument([&] { copy(memory + 7_B, memory, 8, queue); }, "overlap");
  expect_invalid_argument([&] { copy(memory, memory, 8, queue); }, "overlap");
  copy(memory, memory + 8_B, 8, queue);
}

TEST_P(DriverArguments, GraphsNeedNodesWithUsableCopiesAndEarlierEdges) {
  const Address source = allocate(gpu(), Bytes{kSmall});
  const Address destination = allocate(peer(), Bytes{kSmall});
  const CopyRequest good = request(destination, source, 8);
  CopyRequest empty = good;
  empty.bytes = {};
  CopyRequest beyond = good;
  beyond.bytes = Bytes{kSmall + 1};

  expect_invalid_argument([&] { graph({}); }, "no nodes");
  expect_invalid_argument([&] { graph({{good, {0}}}); }, "node 0 waits for node 0");
  expect_invalid_argument([&] { graph({{good, {}}, {good, {-1}}}); }, "node 1 waits for node -1");
  expect_invalid_argument([&] { graph({{good, {1}}, {good, {}}}); }, "node 0 waits for node 1");
  expect_invalid_argument([&] { graph({{empty, {}}}); }, "0 bytes");
  expect_invalid_argument([&] { graph({{beyond, {}}}); }, "source range is too long");
}

TEST_P(DriverArguments, ARefusedUpdateLeavesTheGraphAsItWas) {
  const Contents sent = pattern(kSmall, 1);
  const Address source = allocate(gpu(), sent);
  const Address destination = allocate(peer(), Bytes{kSmall});
  const Address elsewhere = allocate(host(), Bytes{kSmall});
  const StreamHandle queue = stream(gpu());
  const GraphHandle kept = graph({{request(destination, source, kSmall), {}}});

  expect_invalid_argument([&] { driver().update_node(kept, 1, destination, source); },
                          "node 1 does not exist");
  expect_invalid_argument([&] { driver().update_node(kept, -1, destination, source); }, "node -1");
  expect_invalid_argument([&] { driver().update_node(kept, 0, destination, {}); }, "source 0x0");
  expect_invalid_argument([&] { driver().update_node(kept, 0, elsewhere, source); }, "destination",
                          "another place");
  driver().launch(kept, queue);

  EXPECT_TRUE(same_bytes(read(destination, kSmall), sent));
}

}  // namespace
}  // namespace polypath::test
