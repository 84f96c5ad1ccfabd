// The conformance suite of conformance.h. Each driver instantiates it in a file of its own.

#include "driver/conformance.h"

#include "support/errors.h"

namespace polypath::test {

void DriverConformance::SetUp() {
  subject_ = GetParam().make();
  if (!subject_) GTEST_SKIP() << "there is no " << GetParam().name << " here";
}

void DriverConformance::TearDown() {
  if (!subject_) return;
  for (const StreamHandle stream : streams_) driver().synchronize(stream);
  for (const GraphHandle graph : graphs_) driver().destroy_graph(graph);
  for (const EventHandle event : events_) driver().destroy_event(event);
  for (const StreamHandle stream : streams_) driver().destroy_stream(stream);
  for (const Address address : memory_) driver().free(address);
  EXPECT_EQ(subject_->complaints(), std::vector<std::string>{});
}

Address DriverConformance::allocate(PlaceId place, Bytes bytes) {
  memory_.push_back(driver().allocate(place, bytes));
  return memory_.back();
}

Address DriverConformance::allocate(PlaceId place, const Contents& contents) {
  const Address address = allocate(place, Bytes{contents.size()});
  subject_->write(address, contents);
  return address;
}

StreamHandle DriverConformance::stream(PlaceId gpu) {
  streams_.push_back(driver().create_stream(gpu));
  return streams_.back();
}

EventHandle DriverConformance::event(PlaceId gpu) {
  events_.push_back(driver().create_event(gpu));
  return events_.back();
}

GraphHandle DriverConformance::graph(const std::vector<GraphNode>& nodes) {
  graphs_.push_back(driver().instantiate(nodes));
  return graphs_.back();
}

Contents DriverConformance::read(Address address, std::size_t bytes) {
  for (const StreamHandle stream : streams_) driver().synchronize(stream);
  return subject_->read(address, bytes);
}

bool DriverConformance::knows(Address address) {
  const auto memory = driver().find_memory(address);
  return memory && memory->kind != MemoryKind::pageable;
}

CopyRequest DriverConformance::request(Address destination, Address source, std::size_t bytes) {
  const auto to = driver().find_memory(destination);
  const auto from = driver().find_memory(source);
  return {destination, to ? to->place : gpu(), source, from ? from->place : gpu(), Bytes{bytes},
          {}};
}

void DriverConformance::copy(Address destination, Address source, std::size_t bytes,
                             StreamHandle stream) {
  driver().copy(request(destination, source, bytes), stream);
}

namespace {

constexpr std::size_t kSmall = 4096;
// Large enough that its copy is still running when the next calls are made.
constexpr std::size_t kLarge = std::size_t{8} << 20;

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DriverConformance);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DriverArguments);

// --- memory ---

TEST_P(DriverConformance, MemoryIsAlignedAndFoundByEveryAddressInIt) {
  for (const PlaceId place : {gpu(), peer(), host()}) {
    const Address base = allocate(place, 1000_B);

    for (const std::uint64_t offset : {0, 1, 511, 999}) {
      const auto found = driver().find_memory(base + Bytes{offset});
      ASSERT_TRUE(found) << offset;
      EXPECT_EQ(found->place, place);
      EXPECT_EQ(found->base, base);
      EXPECT_EQ(found->size, 1000_B);
    }
    EXPECT_EQ(base.value % 512, 0U);
  }
}

TEST_P(DriverConformance, MemoryBeyondAnAllocationIsNotItsOwn) {
  const Address base = allocate(gpu(), 4096_B);

  const auto found = driver().find_memory(base + 4096_B);

  EXPECT_TRUE(!found || found->base != base);
}

TEST_P(DriverConformance, FreedMemoryIsNotFound) {
  const Address base = driver().allocate(gpu(), 4096_B);

  driver().free(base);

  EXPECT_FALSE(knows(base));
}

TEST_P(DriverConformance, AllocationsDoNotOverlap) {
  std::vector<Address> bases;
  for (int i = 0; i < 32; ++i) bases.push_back(allocate(i % 2 == 0 ? gpu() : host(), 777_B));

  for (const Address base : bases)
    for (const std::uint64_t offset : {0, 776})
      EXPECT_EQ(driver().find_memory(base + Bytes{offset})->base, base);
}

TEST_P(DriverConformance, MemoryOfTheUserIsUnknown) {
  Contents own(64);

  EXPECT_FALSE(knows({reinterpret_cast<std::uintptr_t>(own.data())}));
  EXPECT_FALSE(driver().find_memory({}));
}

// --- copies ---

TEST_P(DriverConformance, CopiesOverEveryHopAndWithinAPlaceAreExact) {
  std::vector<std::pair<PlaceId, PlaceId>> pairs{{gpu(), gpu()}, {host(), host()}};
  for (const Hop& hop : machine().hops) pairs.emplace_back(hop.source, hop.destination);
  const StreamHandle queue = stream(gpu());
  std::uint64_t seed = 0;

  for (const auto& [from, to] : pairs) {
    const Contents sent = pattern(kSmall, ++seed);
    const Address source = allocate(from, sent);
    const Address destination = allocate(to, pattern(kSmall, 1000 + seed));
    copy(destination, source, kSmall, queue);
    EXPECT_TRUE(same_bytes(read(destination, kSmall), sent))
        << machine().place(from).name << " to " << machine().place(to).name;
  }
}

TEST_P(DriverConformance, OddSizesAndOffsetsTouchNothingElse) {
  const Contents sent = pattern(kSmall, 1);
  const Contents before = pattern(kSmall, 2);
  const Address source = allocate(gpu(), sent);
  const Address destination = allocate(peer(), before);
  const StreamHandle queue = stream(gpu());

  for (const auto& [to, from, bytes] : std::vector<std::array<std::size_t, 3>>{
           {0, 0, 1}, {1, 3, 1}, {7, 1, 13}, {511, 513, 1025}, {4095, 0, 1}, {1, 0, 4095}}) {
    subject_->write(destination, before);
    Contents expected = before;
    std::copy_n(sent.begin() + static_cast<std::ptrdiff_t>(from), bytes,
                expected.begin() + static_cast<std::ptrdiff_t>(to));
    copy(destination + Bytes{to}, source + Bytes{from}, bytes, queue);
    EXPECT_TRUE(same_bytes(read(destination, kSmall), expected))
        << bytes << " bytes from " << from << " to " << to;
  }
}

TEST_P(DriverConformance, OneMemoryCanBeCopiedWithinItself) {
  const Contents before = pattern(kSmall, 1);
  const Address memory = allocate(gpu(), before);
  Contents expected = before;
  std::copy_n(before.begin(), 1000, expected.begin() + 1000);

  copy(memory + 1000_B, memory, 1000, stream(gpu()));

  EXPECT_TRUE(same_bytes(read(memory, kSmall), expected));
}

TEST_P(DriverConformance, TheDefaultStreamCopies) {
  const Contents sent = pattern(kSmall, 1);
  const Address source = allocate(host(), sent);
  const Address destination = allocate(gpu(), Bytes{kSmall});

  copy(destination, source, kSmall, StreamHandle{});
  driver().synchronize(StreamHandle{});

  EXPECT_TRUE(same_bytes(read(destination, kSmall), sent));
}

// --- streams and events ---

TEST_P(DriverConformance, WorkOnAStreamRunsInOrder) {
  const Contents sent = pattern(kLarge, 1);
  const Address first = allocate(gpu(), sent);
  const Address second = allocate(peer(), Bytes{kLarge});
  const Address third = allocate(host(), Bytes{kLarge});
  const StreamHandle queue = stream(gpu());

  copy(second, first, kLarge, queue);
  copy(third, second, kLarge, queue);

  EXPECT_TRUE(same_bytes(read(third, kLarge), sent));
}

TEST_P(DriverConformance, AnEventOrdersOneStreamAfterAnother) {
  const Contents sent = pattern(kLarge, 1);
  const Address first = allocate(gpu(), sent);
  const Address second = allocate(peer(), Bytes{kLarge});
  const Address third = allocate(host(), Bytes{kSmall});
  const StreamHandle writer = stream(gpu());
  const StreamHandle reader = stream(peer());
  const EventHandle written = event(gpu());

  copy(second, first, kLarge, writer);
  driver().record(written, writer);
  driver().wait(reader, written);
  copy(third, second + Bytes{kLarge - kSmall}, kSmall, reader);

  EXPECT_TRUE(same_bytes(read(third, kSmall), Contents(sent.end() - kSmall, sent.end())));
}

TEST_P(DriverConformance, OrderPassesThroughAChainOfStreams) {
  const Contents sent = pattern(kLarge, 1);
  const Address source = allocate(host(), sent);
  const Address middle = allocate(gpu(), Bytes{kLarge});
  const Address destination = allocate(peer(), Bytes{kLarge});
  const StreamHandle writer = stream(gpu());
  const StreamHandle between = stream(peer());
  const StreamHandle reader = stream(gpu());
  const EventHandle first = event(gpu());
  const EventHandle second = event(peer());

  copy(middle, source, kLarge, writer);
  driver().record(first, writer);
  driver().wait(between, first);
  driver().record(second, between);
  driver().wait(reader, second);
  copy(destination, middle, kLarge, reader);

  EXPECT_TRUE(same_bytes(read(destination, kLarge), sent));
}

TEST_P(DriverConformance, AWaitKeepsItsMeaningWhenTheEventIsRecordedAgain) {
  const Contents sent = pattern(kLarge, 1);
  const Address source = allocate(gpu(), sent);
  const Address middle = allocate(peer(), Bytes{kLarge});
  const Address destination = allocate(host(), Bytes{kLarge});
  const StreamHandle writer = stream(gpu());
  const StreamHandle reader = stream(peer());
  const StreamHandle idle = stream(gpu());
  const EventHandle written = event(gpu());

  copy(middle, source, kLarge, writer);
  driver().record(written, writer);
  driver().wait(reader, written);
  driver().record(written, idle);
  copy(destination, middle, kLarge, reader);

  EXPECT_TRUE(same_bytes(read(destination, kLarge), sent));
}

TEST_P(DriverConformance, AWaitTakesTheLatestRecord) {
  const Contents sent = pattern(kLarge, 1);
  const Address source = allocate(gpu(), sent);
  const Address middle = allocate(peer(), Bytes{kLarge});
  const Address destination = allocate(host(), Bytes{kLarge});
  const StreamHandle writer = stream(gpu());
  const StreamHandle reader = stream(peer());
  const EventHandle written = event(gpu());

  driver().record(written, writer);
  copy(middle, source, kLarge, writer);
  driver().record(written, writer);
  driver().wait(reader, written);
  copy(destination, middle, kLarge, reader);

  EXPECT_TRUE(same_bytes(read(destination, kLarge), sent));
}

TEST_P(DriverConformance, ARecordedEventBecomesDone) {
  const Address source = allocate(gpu(), Bytes{kLarge});
  const Address destination = allocate(peer(), Bytes{kLarge});
  const StreamHandle queue = stream(gpu());
  const EventHandle copied = event(gpu());
  const EventHandle unused = event(gpu());

  copy(destination, source, kLarge, queue);
  driver().record(copied, queue);

  EXPECT_TRUE(driver().is_done(unused));
  EXPECT_FALSE(driver().is_done(copied));
  driver().synchronize(queue);
  EXPECT_TRUE(driver().is_done(copied));
}

TEST_P(DriverConformance, AnEventOnAnIdleStreamIsDone) {
  const StreamHandle queue = stream(gpu());
  const EventHandle nothing = event(gpu());

  driver().record(nothing, queue);
  driver().synchronize(queue);

  EXPECT_TRUE(driver().is_done(nothing));
}

TEST_P(DriverConformance, AnEventMayBeDestroyedWhileAStreamWaitsForIt) {
  const Contents sent = pattern(kLarge, 1);
  const Address source = allocate(gpu(), sent);
  const Address middle = allocate(peer(), Bytes{kLarge});
  const Address destination = allocate(host(), Bytes{kLarge});
  const StreamHandle writer = stream(gpu());
  const StreamHandle reader = stream(peer());
  const EventHandle written = driver().create_event(gpu());

  copy(middle, source, kLarge, writer);
  driver().record(written, writer);
  driver().wait(reader, written);
  driver().destroy_event(written);
  copy(destination, middle, kLarge, reader);

  EXPECT_TRUE(same_bytes(read(destination, kLarge), sent));
}

TEST_P(DriverConformance, ADestroyedStreamRunsToItsEnd) {
  const Contents sent = pattern(kLarge, 1);
  const Address source = allocate(gpu(), sent);
  const Address destination = allocate(peer(), Bytes{kLarge});
  const StreamHandle queue = driver().create_stream(gpu());
  const StreamHandle waiting = stream(gpu());
  const EventHandle copied = event(gpu());

  copy(destination, source, kLarge, queue);
  driver().record(copied, queue);
  driver().wait(waiting, copied);
  driver().destroy_stream(queue);

  EXPECT_TRUE(same_bytes(read(destination, kLarge), sent));
}

TEST_P(DriverConformance, SynchronizeWaitsForTheStream) {
  const Contents sent = pattern(kLarge, 1);
  const Address source = allocate(gpu(), sent);
  const Address destination = allocate(peer(), Bytes{kLarge});
  const StreamHandle queue = stream(gpu());
  const Seconds before = driver().now();

  copy(destination, source, kLarge, queue);
  driver().synchronize(queue);

  EXPECT_TRUE(same_bytes(subject_->read(destination, kLarge), sent));
  EXPECT_GT(driver().now(), before);
}

TEST_P(DriverConformance, AnOrdinaryStreamIsNotCapturing) {
  EXPECT_FALSE(driver().is_capturing(stream(gpu())));
  EXPECT_FALSE(driver().is_capturing(StreamHandle{}));
}

// --- graphs ---

TEST_P(DriverConformance, GraphNodesRunInTheOrderOfTheirEdges) {
  const Contents sent = pattern(kLarge, 1);
  const Address source = allocate(gpu(), sent);
  const Address middle = allocate(peer(), Bytes{kLarge});
  const Address destination = allocate(host(), Bytes{kLarge});
  const StreamHandle queue = stream(gpu());
  const GraphHandle chain =
      graph({{request(middle, source, kLarge), {}}, {request(destination, middle, kLarge), {0}}});

  driver().launch(chain, queue);

  EXPECT_TRUE(same_bytes(read(destination, kLarge), sent));
}

TEST_P(DriverConformance, AGraphIsOrderedWithTheWorkAroundIt) {
  const Contents sent = pattern(kLarge, 1);
  const Address first = allocate(host(), sent);
  const Address second = allocate(gpu(), Bytes{kLarge});
  const Address third = allocate(peer(), Bytes{kLarge});
  const Address fourth = allocate(host(), Bytes{kLarge});
  const StreamHandle queue = stream(gpu());
  const GraphHandle middle = graph({{request(third, second, kLarge), {}}});

  copy(second, first, kLarge, queue);
  driver().launch(middle, queue);
  copy(fourth, third, kLarge, queue);

  EXPECT_TRUE(same_bytes(read(fourth, kLarge), sent));
}

TEST_P(DriverConformance, EveryBranchOfAGraphIsOverBeforeWhatComesNext) {
  const Contents sent = pattern(kLarge, 1);
  const Address source = allocate(gpu(), sent);
  const Address middle = allocate(peer(), Bytes{kLarge});
  const Address destination = allocate(gpu(), Bytes{kLarge});
  const StreamHandle queue = stream(gpu());
  const std::size_t half = kLarge / 2;
  const Bytes rest{half};
  const GraphHandle branches = graph({{request(middle, source, half), {}},
                                      {request(middle + rest, source + rest, kLarge - half), {}}});

  driver().launch(branches, queue);
  copy(destination, middle, kLarge, queue);

  EXPECT_TRUE(same_bytes(read(destination, kLarge), sent));
}

TEST_P(DriverConformance, AnUpdateChangesLaterLaunchesOnly) {
  const Contents old_source = pattern(kLarge, 1);
  const Contents new_source = pattern(kLarge, 2);
  const Address old_from = allocate(gpu(), old_source);
  const Address new_from = allocate(gpu(), new_source);
  const Address old_to = allocate(peer(), Bytes{kLarge});
  const Address new_to = allocate(peer(), Bytes{kLarge});
  const StreamHandle queue = stream(gpu());
  const GraphHandle updated = graph({{request(old_to, old_from, kLarge), {}}});

  driver().launch(updated, queue);
  driver().update_node(updated, 0, new_to, new_from);
  driver().launch(updated, queue);

  EXPECT_TRUE(same_bytes(read(old_to, kLarge), old_source));
  EXPECT_TRUE(same_bytes(read(new_to, kLarge), new_source));
}

TEST_P(DriverConformance, AnUpdateOfOneNodeLeavesTheOthers) {
  const Contents left = pattern(kSmall, 1);
  const Contents right = pattern(kSmall, 2);
  const Address from = allocate(gpu(), left);
  const Address other_from = allocate(gpu(), right);
  const Address to = allocate(peer(), Bytes{kSmall});
  const Address other_to = allocate(peer(), Bytes{kSmall});
  const StreamHandle queue = stream(gpu());
  const GraphHandle updated =
      graph({{request(to, from, kSmall), {}}, {request(other_to, from, kSmall), {}}});

  driver().update_node(updated, 1, other_to, other_from);
  driver().launch(updated, queue);

  EXPECT_TRUE(same_bytes(read(to, kSmall), left));
  EXPECT_TRUE(same_bytes(read(other_to, kSmall), right));
}

// Both launches write the same bytes; only because the second one comes after the first are the
// first one's branches no race with it.
TEST_P(DriverConformance, LaunchesOfOneGraphRunOneAfterAnother) {
  const Contents early = pattern(kLarge, 1);
  const Contents late = pattern(kLarge, 2);
  const Address early_from = allocate(gpu(), early);
  const Address late_from = allocate(gpu(), late);
  const Address left = allocate(peer(), Bytes{kLarge});
  const Address right = allocate(peer(), Bytes{kLarge});
  const GraphHandle twice =
      graph({{request(left, early_from, kLarge), {}}, {request(right, early_from, kLarge), {}}});

  driver().launch(twice, stream(gpu()));
  driver().update_node(twice, 0, right, late_from);
  driver().update_node(twice, 1, left, late_from);
  driver().launch(twice, stream(gpu()));

  EXPECT_TRUE(same_bytes(read(left, kLarge), late));
  EXPECT_TRUE(same_bytes(read(right, kLarge), late));
}

TEST_P(DriverConformance, AGraphDestroyedWhileRunningRunsToItsEnd) {
  const Contents sent = pattern(kLarge, 1);
  const Address source = allocate(gpu(), sent);
  const Address middle = allocate(peer(), Bytes{kLarge});
  const Address destination = allocate(host(), Bytes{kLarge});
  const StreamHandle queue = stream(gpu());
  const GraphHandle chain = driver().instantiate(
      {{request(middle, source, kLarge), {}}, {request(destination, middle, kLarge), {0}}});

  driver().launch(chain, queue);
  driver().destroy_graph(chain);

  EXPECT_TRUE(same_bytes(read(destination, kLarge), sent));
}

// --- arguments ---

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
