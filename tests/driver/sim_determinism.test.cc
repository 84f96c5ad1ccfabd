// The same calls give the same times and reports.

#include "driver/hand_driver.h"
#include "support/random.h"

namespace polypath::test::sim_determinism_test {
namespace {

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
}  // namespace polypath::test::sim_determinism_test
