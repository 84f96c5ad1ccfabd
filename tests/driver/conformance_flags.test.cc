// The conformance suite of conformance.h: words that streams, graphs and threads write, and streams
// and graphs wait for.

#include "core/error.h"
#include "driver/conformance.h"
#include "support/layers.h"

namespace polypath::test {
namespace {

constexpr std::size_t kWord = 4;

Contents word(unsigned char value) { return {value, 0, 0, 0}; }

}  // namespace

void DriverFlags::SetUp() {
  DriverConformance::SetUp();
  if (!subject_) return;
  try {
    driver().write_value(stream(gpu()), allocate(gpu(), word(0)), gpu(), 0);
  } catch (const Error& error) {
    ASSERT_EQ(error.code(), ErrorCode::unsupported);
    GTEST_SKIP() << error.what();
  }
}

namespace {

// The reader's calls come first: nothing but the flag makes it wait.
TEST_P(DriverFlags, WhatFollowsAWaitComesAfterWhatIsBeforeTheWrite) {
  const Contents sent = pattern(kLarge, 1);
  const Address source = allocate(host(), sent), middle = allocate(gpu(), Bytes{kLarge});
  const Address destination = allocate(host(), Bytes{kLarge}), flag = allocate(gpu(), word(0));
  const StreamHandle writer = stream(gpu()), reader = stream(gpu());

  driver().wait_value(reader, flag, gpu(), 1);
  copy(destination, middle, kLarge, reader);
  copy(middle, source, kLarge, writer);
  driver().write_value(writer, flag, gpu(), 1);

  EXPECT_TRUE(same_bytes(read(destination, kLarge), sent));
  EXPECT_TRUE(same_bytes(read(flag, kWord), word(1)));
}

TEST_P(DriverFlags, AFlagThatWasAwaitedIsWhatIsWantedThen) {
  for (const bool before_kernels : {false, true}) {
    const Contents sent = pattern(kLarge, 1);
    const Address source = allocate(gpu(), sent), destination = allocate(host(), Bytes{kLarge});
    const Address flag = allocate(gpu(), word(0));
    const StreamHandle writer = stream(gpu()), reader = stream(gpu());

    driver().await_flag({.address = flag,
                         .place = gpu(),
                         .gpu = gpu(),
                         .value = 1,
                         .waits = true,
                         .then = 7,
                         .before_kernels = before_kernels},
                        reader);
    copy(destination, source, kLarge, reader);
    driver().write_value(writer, flag, gpu(), 1);

    EXPECT_TRUE(same_bytes(read(destination, kLarge), sent));
    EXPECT_TRUE(same_bytes(read(flag, kWord), word(7)));
  }
}

TEST_P(DriverFlags, NoTimeIsKnownBeforeTheEndIsReached) {
  const Address flag = allocate(gpu(), word(0));
  const StreamHandle writer = stream(gpu()), reader = stream(gpu());
  const EventHandle begin = timing_event(gpu()), end = timing_event(gpu());

  driver().record(begin, reader);
  driver().wait_value(reader, flag, gpu(), 1);
  driver().record(end, reader);
  const auto before = driver().elapsed(begin, end);
  driver().write_value(writer, flag, gpu(), 1);
  driver().synchronize(reader);

  EXPECT_EQ(before, std::nullopt);
  EXPECT_TRUE(driver().elapsed(begin, end));
}

TEST_P(DriverFlags, AGpuWritesFlagsOfAnother) {
  const Address flag = allocate(peer(), word(0));
  if (!driver().kernels_reach(gpu(), flag)) GTEST_SKIP() << "it does not reach its memory";
  const Contents sent = pattern(kLarge, 1);
  const Address source = allocate(gpu(), sent), middle = allocate(peer(), Bytes{kLarge});
  const Address destination = allocate(host(), Bytes{kLarge});
  const StreamHandle writer = stream(gpu()), reader = stream(peer());

  driver().wait_value(reader, flag, peer(), 1);
  copy(destination, middle, kLarge, reader);
  copy(middle, source, kLarge, writer);
  driver().write_value(writer, flag, peer(), 1);

  EXPECT_TRUE(same_bytes(read(destination, kLarge), sent));
}

// The stream of the wait does not hold up a thread that writes in no stream.
TEST_P(DriverFlags, AThreadSignalsWhatAStreamWaitsFor) {
  const Contents sent = pattern(kLarge, 1);
  const Address source = allocate(host(), sent), middle = allocate(gpu(), Bytes{kLarge});
  const Address destination = allocate(host(), Bytes{kLarge}), flag = allocate(host(), word(0));
  const StreamHandle writer = stream(gpu()), reader = stream(gpu());

  driver().wait_value(reader, flag, host(), 1);
  copy(destination, middle, kLarge, reader);
  copy(middle, source, kLarge, writer);
  driver().synchronize(writer);
  driver().signal(flag, host(), 1);

  EXPECT_TRUE(same_bytes(read(destination, kLarge), sent));
  EXPECT_TRUE(same_bytes(read(flag, kWord), word(1)));
}

// More streams wait than a GPU has channels: no stream of theirs could be sure to get through.
TEST_P(DriverFlags, AThreadSignalsHoweverManyStreamsWait) {
  constexpr int kStreams = 64;
  for (const PlaceId place : {host(), gpu()}) {
    const Address flag = allocate(place, word(0));
    std::vector<StreamHandle> waiting;
    for (int i = 0; i < kStreams; ++i) waiting.push_back(stream(gpu()));

    for (const StreamHandle each : waiting) driver().wait_value(each, flag, place, 1);
    driver().signal(flag, place, 1);

    EXPECT_TRUE(same_bytes(read(flag, kWord), word(1)));
  }
}

TEST_P(DriverFlags, SignalsAreAligned) {
  const Address at_host = allocate(host(), Bytes{64}), at_gpu = allocate(gpu(), Bytes{64});

  EXPECT_THROW(driver().signal(at_host + 2_B, host(), 1), Error);
  EXPECT_THROW(driver().signal(at_gpu + 2_B, gpu(), 1), Error);
}

TEST_P(DriverFlags, AValueThatIsThereIsNotWaitedFor) {
  const Address flag = allocate(gpu(), word(7));
  const StreamHandle queue = stream(gpu());

  driver().wait_value(queue, flag, gpu(), 7);
  driver().write_value(queue, flag, gpu(), 8);
  driver().wait_value(queue, flag, gpu(), 8);

  EXPECT_TRUE(same_bytes(read(flag, kWord), word(8)));
}

FlagRequest awaited(Address flag, PlaceId gpu) {
  return {.address = flag, .place = gpu, .gpu = gpu, .value = 1, .waits = true, .then = 0};
}

TEST_P(DriverFlags, GraphsAwaitAndClearThem) {
  const Contents sent = pattern(kLarge, 1);
  const Address source = allocate(host(), sent), middle = allocate(gpu(), Bytes{kLarge});
  const Address destination = allocate(host(), Bytes{kLarge}), flag = allocate(gpu(), word(0));
  const StreamHandle writer = stream(gpu()), reader = stream(gpu());
  const GraphHandle reads = graph({{.copy = {}, .after = {}, .flag = awaited(flag, gpu())},
                                   {.copy = request(destination, middle, kLarge), .after = {0}}});
  const GraphHandle writes =
      graph({{.copy = request(middle, source, kLarge), .after = {}},
             {.copy = {},
              .after = {0},
              .flag = FlagRequest{.address = flag, .place = gpu(), .gpu = gpu()}}});

  driver().launch(reads, reader);
  driver().launch(writes, writer);

  EXPECT_TRUE(same_bytes(read(destination, kLarge), sent));
  EXPECT_TRUE(same_bytes(read(flag, kWord), word(0)));
}

TEST_P(DriverFlags, AGraphThatAwaitsOneCanBeLaunchedAgain) {
  const Address flag = allocate(gpu(), word(0));
  const StreamHandle writer = stream(gpu()), reader = stream(gpu());
  const GraphHandle awaits = graph({{.copy = {}, .after = {}, .flag = awaited(flag, gpu())}});

  for (int run = 0; run < 3; ++run) {
    driver().launch(awaits, reader);
    driver().write_value(writer, flag, gpu(), 1);
    driver().synchronize(reader);
  }

  EXPECT_TRUE(same_bytes(read(flag, kWord), word(0)));
}

TEST_P(DriverFlags, NodesWithFlagsCannotBeUpdated) {
  const Address flag = allocate(gpu(), word(0));
  const GraphHandle awaits = graph({{.copy = {}, .after = {}, .flag = awaited(flag, gpu())}});

  EXPECT_THROW(driver().update_node(awaits, 0, flag, flag), Error);
}

TEST_P(DriverArguments, AFlagIsAligned) {
  const Address memory = allocate(gpu(), Bytes{64});
  const StreamHandle queue = stream(gpu());

  EXPECT_THROW(driver().write_value(queue, memory + 2_B, gpu(), 1), Error);
  EXPECT_THROW(driver().wait_value(queue, memory + 2_B, gpu(), 1), Error);
}

}  // namespace
}  // namespace polypath::test
