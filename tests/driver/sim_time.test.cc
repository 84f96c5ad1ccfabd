// Virtual time, worked out by hand. All times in microseconds; the machine's figures are in
// support/hand_machine.h. A copy call at time t returns at t + 1, and its copy is issued then.

#include "driver/hand_driver.h"
#include "support/layers.h"

namespace polypath::test::sim_time_test {
namespace {

using Time = HandDriver;

TEST_F(Time, EveryCallCostsWhatTheMachineSays) {
  const StreamHandle stream = driver_.create_stream(gpu(0));
  const EventHandle event = driver_.create_event(gpu(0));
  const Address memory = this->memory(gpu(0), 64);

  expect_now(0);
  driver_.record(event, stream);
  expect_now(2);
  driver_.wait(stream, event);
  expect_now(2 + 3);
  driver_.synchronize(stream);
  expect_now(2 + 3 + 4);
  copy(memory, memory + 32_B, 32, stream);
  expect_now(2 + 3 + 4 + 1);
}

// Issued at 1, α = 10, 8000 bytes at 800 per us = 10: finished at 21; synchronize adds 4.
TEST_F(Time, ACopyTakesItsLatencyAndItsBytesOverTheBandwidth) {
  const StreamHandle stream = driver_.create_stream(gpu(0));

  copy(memory(gpu(1), 8000), memory(gpu(0), 8000), 8000, stream);
  driver_.synchronize(stream);

  expect_now(1 + 10 + 10 + 4);
  const std::vector<sim::Span> trace = driver_.trace();
  ASSERT_EQ(trace.size(), 1U);
  expect_time(trace[0].ready, 1);
  expect_time(trace[0].started, 1);
  expect_time(trace[0].finished, 21);
}

// The second is issued at 2 and starts when the first ends at 21, without ε.
TEST_F(Time, CopiesOnOneStreamFollowEachOther) {
  const StreamHandle stream = driver_.create_stream(gpu(0));
  const Address source = memory(gpu(0), 8000);
  const Address destination = memory(gpu(1), 8000);

  copy(destination, source, 8000, stream);
  copy(destination, source, 8000, stream);

  const std::vector<sim::Span> trace = driver_.trace();
  expect_time(trace.at(1).ready, 21);
  expect_time(trace.at(1).finished, 21 + 10 + 10);
}

// While gpu0 makes another copy: α = 10, 3 for that, twice where the stream has waited for another
// one, and 5000 bytes at 500 per us = 10.
TEST(BusyTime, ACopyBehindAWaitStartsLaterStill) {
  const auto time_of_copy = [](bool waits) {
    Machine machine = hand_machine();
    machine.places[0].busy_latency = 3_us;
    sim::SimDriver driver(machine, {true, true, true});
    const PlaceId gpu{0}, peer{1}, host{3};
    const StreamHandle busy = driver.create_stream(gpu), other = driver.create_stream(gpu);
    const EventHandle event = driver.create_event(gpu);
    const auto copy = [&](PlaceId to, std::uint64_t bytes, StreamHandle stream) {
      driver.copy({.destination = driver.allocate(to, {bytes}),
                   .destination_place = to,
                   .source = driver.allocate(gpu, {bytes}),
                   .source_place = gpu,
                   .bytes = {bytes}},
                  stream);
    };
    driver.record(event, driver.create_stream(gpu));
    copy(peer, 80000, busy);
    if (waits) driver.wait(other, event);
    copy(host, 5000, other);
    const sim::Span span = driver.trace().at(0);  // the first to end
    return span.finished - span.started;
  };

  EXPECT_NEAR(time_of_copy(false).value * 1e6, 10 + 3 + 10, 1e-6);
  EXPECT_NEAR(time_of_copy(true).value * 1e6, 10 + 6 + 10, 1e-6);
}

TEST_F(Time, ACopyWithinAPlaceTakesNone) {
  const StreamHandle stream = driver_.create_stream(gpu(0));
  const Address memory = this->memory(gpu(0), 8000);

  copy(memory, memory + 4000_B, 4000, stream);
  driver_.synchronize(stream);

  expect_now(1 + 4);
}

// Both go into gpu2, whose ingress carries 1000 per us: A flows alone at 800 from 11 to 12, then
// each gets 500. A has 5800 = 800 + 10·500 bytes: over at 22. B had 5000 by then; the other 8000
// flow alone at 800: over at 32.
TEST_F(Time, TwoCopiesShareALinkEqually) {
  copy(memory(gpu(2), 5800), memory(gpu(0), 5800), 5800, driver_.create_stream(gpu(0)));
  copy(memory(gpu(2), 13000), memory(gpu(1), 13000), 13000, driver_.create_stream(gpu(1)));

  const std::vector<sim::Span> trace = driver_.trace();

  expect_time(trace.at(0).finished, 22);
  expect_time(trace.at(1).finished, 32);
}

// Into gpu1: B alone can do only 300 per us, so that A gets the other 700 (max-min). A flows from
// 11, 800 of it before B starts at 12, and 7000 = 10·700 after: over at 22. B: 6000/300 = 20 us.
TEST_F(Time, ASlowCopyLeavesTheRestOfALinkToOthers) {
  copy(memory(gpu(1), 7800), memory(gpu(0), 7800), 7800, driver_.create_stream(gpu(0)));
  copy(memory(gpu(1), 6000), memory(gpu(2), 6000), 6000, driver_.create_stream(gpu(2)));

  const std::vector<sim::Span> trace = driver_.trace();

  expect_time(trace.at(0).finished, 22);
  expect_time(trace.at(1).finished, 32);
}

// Both need gpu1's engine for copies from the host. 5000 bytes at 500 per us are 10 us: the first
// holds it from 1 to 21; the second has been ready since 2.
TEST_F(Time, ASerialEngineTakesOneCopyAfterAnother) {
  copy(memory(gpu(1), 5000), memory(kHost, 5000), 5000, driver_.create_stream(gpu(1)));
  copy(memory(gpu(1), 5000), memory(kHost, 5000), 5000, driver_.create_stream(gpu(1)));

  const std::vector<sim::Span> trace = driver_.trace();

  expect_time(trace.at(1).ready, 2);
  expect_time(trace.at(1).started, 21);
  expect_time(trace.at(1).finished, 21 + 10 + 10);
}

TEST_F(Time, EnginesOfDifferentGpusWorkBesideEachOther) {
  copy(memory(gpu(1), 5000), memory(kHost, 5000), 5000, driver_.create_stream(gpu(1)));
  copy(memory(gpu(2), 5000), memory(kHost, 5000), 5000, driver_.create_stream(gpu(2)));

  const std::vector<sim::Span> trace = driver_.trace();

  expect_time(trace.at(0).finished, 1 + 20);
  expect_time(trace.at(1).finished, 2 + 20);
}

// The first copy ends at 21. Work that waits for it in another stream starts ε = 7 later.
TEST_F(Time, ADependencyAcrossStreamsCostsTheStagingLatency) {
  const StreamHandle first = driver_.create_stream(gpu(0));
  const StreamHandle second = driver_.create_stream(gpu(1));
  const EventHandle event = driver_.create_event(gpu(0));
  const Address middle = memory(gpu(1), 8000);

  copy(middle, memory(gpu(0), 8000), 8000, first);
  driver_.record(event, first);
  driver_.wait(second, event);
  copy(memory(gpu(2), 8000), middle, 8000, second);

  const std::vector<sim::Span> trace = driver_.trace();
  expect_time(trace.at(1).ready, 21 + 7);
  expect_time(trace.at(1).finished, 28 + 20);
}

// Calls cost 1 + 2 + 4 (synchronize, from 21) + 3 + 1: the last copy is issued at 29, later than
// 21 + 7, and does not wait.
TEST_F(Time, ADependencyOnWhatIsLongOverCostsNothing) {
  const StreamHandle first = driver_.create_stream(gpu(0));
  const StreamHandle second = driver_.create_stream(gpu(1));
  const EventHandle event = driver_.create_event(gpu(0));
  const Address middle = memory(gpu(1), 8000);

  copy(middle, memory(gpu(0), 8000), 8000, first);
  driver_.record(event, first);
  driver_.synchronize(first);
  driver_.wait(second, event);
  copy(memory(gpu(2), 8000), middle, 8000, second);

  const std::vector<sim::Span> trace = driver_.trace();
  expect_time(trace.at(1).ready, 21 + 4 + 3 + 1);
}

// A query costs as much as a record, 2. The copy ends at 21; queries return at 5, 7, ..., and the
// first to look at or after 21 is the one that returns at 21 (the clock stands at 21 then).
TEST_F(Time, AQueryTellsWhetherItIsOverByNow) {
  const StreamHandle stream = driver_.create_stream(gpu(0));
  const EventHandle event = driver_.create_event(gpu(0));
  copy(memory(gpu(1), 7600), memory(gpu(0), 7600), 7600, stream);
  driver_.record(event, stream);

  int queries = 1;
  while (!driver_.is_done(event)) ++queries;

  EXPECT_EQ(queries, 9);
  expect_now(3 + 9 * 2);
}

}  // namespace
}  // namespace polypath::test::sim_time_test
