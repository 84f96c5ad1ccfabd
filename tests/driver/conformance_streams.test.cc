// The conformance suite of conformance.h: the order that streams and events give.

#include "driver/conformance.h"
#include "support/layers.h"

namespace polypath::test {
namespace {

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
  const std::uint64_t long_one = kLarge * 8;  // on a GPU a millisecond, to ask takes microseconds
  const Address source = allocate(gpu(), Bytes{long_one});
  const Address destination = allocate(host(), Bytes{long_one});
  const StreamHandle queue = stream(gpu());
  const EventHandle copied = event(gpu());
  const EventHandle unused = event(gpu());

  copy(destination, source, long_one, queue);
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

TEST_P(DriverConformance, TimingEventsSayHowLongTheWorkBetweenThemTook) {
  const Address source = allocate(gpu(), Bytes{kLarge});
  const Address destination = allocate(peer(), Bytes{kLarge});
  const StreamHandle queue = stream(gpu());
  const EventHandle begin = timing_event(gpu());
  const EventHandle middle = timing_event(gpu());
  const EventHandle end = timing_event(gpu());

  driver().record(begin, queue);
  copy(destination, source, kLarge, queue);
  driver().record(middle, queue);
  copy(destination, source, kLarge, queue);
  driver().record(end, queue);
  driver().synchronize(queue);

  const auto half = driver().elapsed(begin, middle), whole = driver().elapsed(begin, end);
  ASSERT_TRUE(half && whole);
  EXPECT_GT(*half, Seconds{});
  EXPECT_GT(*whole, *half);
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

}  // namespace
}  // namespace polypath::test
