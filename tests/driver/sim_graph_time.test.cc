// Virtual time of graphs, worked out by hand as in sim_time.test.cc.

#include "driver/hand_driver.h"
#include "support/layers.h"

namespace polypath::test::sim_graph_time_test {
namespace {

using Time = HandDriver;

// Instantiate: 20 + 2·2 = 24. Launch: 5, then a node per us: issued at 30 and 31, finished at 50
// and 51. The stream is gpu0's, which does the copies: it knows at 51.
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

}  // namespace
}  // namespace polypath::test::sim_graph_time_test
