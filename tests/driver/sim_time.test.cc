// Virtual time, worked out by hand. All times in microseconds; the machine's figures are in
// support/hand_machine.h. A copy call at time t returns at t + 1, and its copy is issued then.

#include "driver/hand_driver.h"
#include "support/random.h"

namespace polypath::test {
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

// The first copy ends at 21. Whoever waits for it in another stream starts ε = 7 later.
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
  copy(memory(gpu(1), 8000), memory(gpu(0), 8000), 8000, stream);
  driver_.record(event, stream);

  int queries = 1;
  while (!driver_.is_done(event)) ++queries;

  EXPECT_EQ(queries, 9);
  expect_now(3 + 9 * 2);
}

// Instantiate: 20 + 2·2 = 24. Launch: 5, then a node per us: issued at 30 and 31, finished at 50
// and
// 51. The stream is gpu0's, which does the copies: it knows at 51.
TEST_F(Time, AGraphStartsItsNodesOneByOne) {
  const StreamHandle stream = driver_.create_stream(gpu(0));
  const Address source = memory(gpu(0), 8000);
  const GraphHandle graph =
      driver_.instantiate({{request(memory(gpu(1), 8000), source, 8000), {}},
                           {request(memory(gpu(2), 8000), source, 8000), {}}});
  expect_now(24);

  driver_.launch(graph, stream);
  expect_now(24 + 5 + 2);
  driver_.synchronize(stream);

  expect_now(51 + 4);
  const std::vector<sim::Span> trace = driver_.trace();
  expect_time(trace.at(0).finished, 50);
  expect_time(trace.at(1).finished, 51);
}

// As above, one node: 22 + 5 + 1 = 28, finished at 48; another GPU's stream learns it ε = 7 later.
TEST_F(Time, AGraphsEndReachesAnotherGpusStreamLater) {
  const StreamHandle stream = driver_.create_stream(gpu(1));
  const GraphHandle graph =
      driver_.instantiate({{request(memory(gpu(1), 8000), memory(gpu(0), 8000), 8000), {}}});

  driver_.launch(graph, stream);
  driver_.synchronize(stream);

  expect_now(48 + 7 + 4);
}

// Three nodes: instantiate 26, launch 5, nodes issued at 32, 33, 34. The first ends at 52; the
// second follows it over the same hop at once, the third over another hop after ε.
TEST_F(Time, AnEdgeBetweenHopsCostsTheStagingLatency) {
  const Address source = memory(gpu(0), 8000);
  const Address middle = memory(gpu(1), 8000);
  const GraphHandle graph =
      driver_.instantiate({{request(middle, source, 4000), {}},
                           {request(middle + 4000_B, source + 4000_B, 4000), {0}},
                           {request(memory(gpu(2), 8000), middle, 4000), {0}}});

  driver_.launch(graph, driver_.create_stream(gpu(0)));

  const std::vector<sim::Span> trace = driver_.trace();
  expect_time(trace.at(0).finished, 32 + 10 + 5);
  expect_time(trace.at(1).ready, 47);
  expect_time(trace.at(2).ready, 47 + 7);
}

TEST_F(Time, AnUpdateCostsLessThanInstantiating) {
  const Address source = memory(gpu(0), 8000);
  const Address destination = memory(gpu(1), 8000);
  const GraphHandle graph = driver_.instantiate({{request(destination, source, 4000), {}}});
  const Seconds before = driver_.now();

  driver_.update_node(graph, 0, destination + 4000_B, source + 4000_B);

  expect_time(driver_.now() - before, 0.5);
}

// Launched at 27 and 33 on two streams: 22 + 5 + 1 = 28, finished at 48; the second launch's copy
// is issued at 34 and starts at 48.
TEST_F(Time, LaunchesOfOneGraphDoNotOverlap) {
  const GraphHandle graph =
      driver_.instantiate({{request(memory(gpu(1), 8000), memory(gpu(0), 8000), 8000), {}}});

  driver_.launch(graph, driver_.create_stream(gpu(0)));
  driver_.launch(graph, driver_.create_stream(gpu(0)));

  const std::vector<sim::Span> trace = driver_.trace();
  expect_time(trace.at(0).finished, 48);
  expect_time(trace.at(1).started, 48);
}

// --- host threads ---

TEST_F(Time, HostThreadsHaveTheirOwnClocks) {
  const StreamHandle stream = driver_.create_stream(gpu(0));
  const EventHandle event = driver_.create_event(gpu(0));

  driver_.record(event, stream);
  driver_.use_host_thread(1);
  expect_now(2);  // a new thread starts where its creator stands
  driver_.record(event, stream);
  driver_.record(event, stream);
  expect_now(6);
  driver_.use_host_thread(0);
  expect_now(2);
}

TEST_F(Time, HostThreadsGoOnTogetherFromTheLatest) {
  const StreamHandle stream = driver_.create_stream(gpu(0));
  const EventHandle event = driver_.create_event(gpu(0));
  driver_.use_host_thread(1);
  driver_.record(event, stream);
  driver_.use_host_thread(2);

  driver_.align_host_threads();

  for (const std::size_t thread : {0, 1, 2}) {
    driver_.use_host_thread(thread);
    expect_now(2);
  }
}

// Each thread issues its copy at 1, over different links: both end at 21.
TEST_F(Time, HostThreadsIssueBesideEachOther) {
  const StreamHandle first = driver_.create_stream(gpu(0));
  const StreamHandle second = driver_.create_stream(gpu(1));
  driver_.use_host_thread(1);
  driver_.use_host_thread(0);

  copy(memory(gpu(1), 8000), memory(gpu(0), 8000), 8000, first);
  driver_.use_host_thread(1);
  copy(memory(gpu(2), 8000), memory(gpu(1), 8000), 8000, second);
  driver_.synchronize(second);

  expect_now(21 + 4);
  for (const sim::Span& span : driver_.trace()) expect_time(span.finished, 21);
}

// --- determinism ---

// A random program of copies, events and graphs; what it did, as text.
std::string history_of(std::uint64_t seed) {
  Random random(seed);
  sim::SimDriver driver(hand_machine(), {true, true, true});
  std::vector<Address> memory;
  std::vector<StreamHandle> streams;
  std::vector<EventHandle> events;
  for (int place = 0; place < 4; ++place) memory.push_back(driver.allocate({place}, 1_MiB));
  for (int i = 0; i < 6; ++i) streams.push_back(driver.create_stream({i % 3}));
  for (int i = 0; i < 6; ++i) events.push_back(driver.create_event({i % 3}));
  for (int step = 0; step < 300; ++step) {
    const std::size_t which = random.index(6);
    const int from = random.integer(0, 3);
    const int to = (from + random.integer(1, 3)) % 4;
    const auto place = [&](int i) { return memory[static_cast<std::size_t>(i)]; };
    const CopyRequest request{place(to), {to}, place(from), {from}, {random.between(1, 1 << 20)},
                              {}};
    switch (random.integer(0, 5)) {
      case 0: driver.record(events[which], streams[which]); break;
      case 1: driver.wait(streams[random.index(6)], events[which]); break;
      case 2: driver.launch(driver.instantiate({{request, {}}}), streams[which]); break;
      default: driver.copy(request, streams[which]);
    }
  }
  std::string history;
  for (const sim::Span& span : driver.trace())
    history += std::to_string(span.hop.value) + ":" + std::to_string(span.started.value * 1e9) +
               "-" + std::to_string(span.finished.value * 1e9) + " ";
  for (const std::string& violation : driver.violations()) history += violation;
  return history;
}

TEST(Determinism, TheSameCallsGiveTheSameTimesAndReports) {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(history_of(seed), history_of(seed)) << "seed " << seed;
}

TEST(Determinism, OtherCallsGiveOtherTimes) { EXPECT_NE(history_of(1), history_of(2)); }

}  // namespace
}  // namespace polypath::test
