// The conformance suite of conformance.h: graphs of copies.

#include "driver/conformance.h"
#include "support/layers.h"

namespace polypath::test {
namespace {

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

TEST_P(DriverConformance, GraphNodesPull) {
  const Contents bytes = pattern(kLarge, 5);
  const Address source = allocate(gpu(), bytes);
  const Address between = allocate(peer(), Bytes{kLarge}), last = allocate(host(), Bytes{kLarge});
  CopyRequest pulled = request(between, source, kLarge);
  pulled.pulled = true;
  const GraphHandle chain = graph({{pulled, {}}, {request(last, between, kLarge), {0}}});

  driver().launch(chain, stream(gpu()));

  EXPECT_EQ(read(last, kLarge), bytes);
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

}  // namespace
}  // namespace polypath::test
