// The race report for graphs: their edges, their stream, and their earlier launches.

#include "driver/races.h"
#include "support/layers.h"

namespace polypath::test::sim_graph_races_test {
namespace {

using testing::IsEmpty;

TEST_F(Races, GraphNodesWithoutAnEdgeAreARace) {
  const GraphHandle graph = driver_.instantiate(
      {{request(middle_, source_, 8000), {}}, {request(destination_, middle_, 8000), {}}});

  driver_.launch(graph, writer_);

  EXPECT_THAT(driver_.violations(), one_race());
}

TEST_F(Races, GraphEdgesOrder) {
  const GraphHandle graph = driver_.instantiate(
      {{request(middle_, source_, 8000), {}}, {request(destination_, middle_, 8000), {0}}});

  driver_.launch(graph, writer_);

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

// Node 2 reads what both branches wrote, but waits for one of them only.
TEST_F(Races, AGraphNodeThatMissesOneOfItsEdgesIsARace) {
  const GraphHandle graph =
      driver_.instantiate({{request(middle_, source_, 4000), {}},
                           {request(middle_ + 4000_B, source_ + 4000_B, 4000), {}},
                           {request(destination_, middle_, 8000), {1}}});

  driver_.launch(graph, writer_);

  EXPECT_EQ(driver_.violations().size(), 1U);
}

TEST_F(Races, AGraphIsOrderedByItsStream) {
  const GraphHandle graph = driver_.instantiate({{request(destination_, middle_, 8000), {}}});

  first();
  driver_.launch(graph, writer_);
  first();

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(Races, AGraphOnAnotherStreamIsARace) {
  const GraphHandle graph = driver_.instantiate({{request(destination_, middle_, 8000), {}}});

  first();
  driver_.launch(graph, reader_);

  EXPECT_THAT(driver_.violations(), one_race());
}

// The branches of the two launches cross over, so that each branch's own order is not enough.
TEST_F(Races, ALaunchComesAfterTheSameGraphsEarlierLaunchOnAnyStream) {
  const GraphHandle graph =
      driver_.instantiate({{request(middle_, source_, 4000), {}},
                           {request(middle_ + 4000_B, source_ + 4000_B, 4000), {}}});

  driver_.launch(graph, writer_);
  driver_.update_node(graph, 0, middle_ + 4000_B, source_);
  driver_.update_node(graph, 1, middle_, source_ + 4000_B);
  driver_.launch(graph, reader_);

  EXPECT_THAT(driver_.violations(), IsEmpty());
}

TEST_F(Races, LaunchesOfTwoEqualGraphsOnTwoStreamsAreARace) {
  const std::vector<GraphNode> nodes{{request(middle_, source_, 8000), {}}};

  driver_.launch(driver_.instantiate(nodes), writer_);
  driver_.launch(driver_.instantiate(nodes), reader_);

  EXPECT_EQ(driver_.violations().size(), 1U);
}

}  // namespace
}  // namespace polypath::test::sim_graph_races_test
