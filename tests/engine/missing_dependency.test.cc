// Leaves out one dependency of a series of transfers at a time, every one of them in turn, and
// expects the race report or the bytes to show it. That makes the absence of reports elsewhere mean
// something. A few dependencies are redundant; the tests say exactly which.

#include <gmock/gmock.h>

#include <set>

#include "support/forwarding_driver.h"
#include "support/rig.h"

namespace polypath::test::missing_dependency_test {
namespace {

using testing::IsEmpty;

constexpr std::size_t kSize = 96 << 10;
const std::vector<std::string> kPaths{"direct", "gpu2", "gpu3", "host"};

// Forwards all waits but some, which are named by their number.
class WithoutWaits final : public ForwardingDriver {
 public:
  WithoutWaits(Driver& real, std::set<int> left_out)
      : ForwardingDriver(real), left_out_(std::move(left_out)) {}

  void wait(StreamHandle stream, EventHandle event) override {
    waiting.push_back(stream);
    if (!left_out_.contains(static_cast<int>(waiting.size()) - 1))
      ForwardingDriver::wait(stream, event);
  }

  std::vector<StreamHandle> waiting;  ///< the stream of each wait so far

 private:
  std::set<int> left_out_;
};

// Forwards graphs without one of their edges.
class WithoutOneEdge final : public ForwardingDriver {
 public:
  WithoutOneEdge(Driver& real, int left_out) : ForwardingDriver(real), left_out_(left_out) {}

  GraphHandle instantiate(const std::vector<GraphNode>& nodes) override {
    std::vector<GraphNode> changed = nodes;
    for (GraphNode& node : changed)
      for (std::size_t i = 0; i < node.after.size(); ++i, ++edges)
        if (edges == left_out_) {
          const CopyRequest& before = nodes[static_cast<std::size_t>(node.after[i])].copy;
          same_hop = before.source_place == node.copy.source_place &&
                     before.destination_place == node.copy.destination_place;
          node.after.erase(node.after.begin() + static_cast<std::ptrdiff_t>(i--));
        }
    return ForwardingDriver::instantiate(changed);
  }

  int edges = 0;          ///< seen so far
  bool same_hop = false;  ///< the edge left out was between two copies over one hop

 private:
  int left_out_;
};

// True if the rig's work so far came to grief: a report, or wrong bytes. Engines are destroyed
// while everything is still queued, so that what they give back then is covered, too.
bool shows(Rig& rig) {
  rig.destroy_engines();
  const bool right = static_cast<bool>(rig.intact());
  return !rig.close().empty() || !right;
}

// A transfer from source to destination with work of the caller on both sides of it.
void issue_between_neighbours(Rig& rig, StreamHandle stream, std::size_t bytes,
                              std::optional<Executor> executor) {
  const PlanOptions native = forced({"direct"}, Executor::native);
  Buffer& source = rig.buffer("gpu0", bytes);
  Buffer& destination = rig.buffer("gpu1", bytes);
  rig.copy(source, rig.buffer("gpu0", bytes), stream, native);
  rig.copy(destination, source, stream, forced(kPaths, executor));
  rig.copy(rig.buffer("gpu1", bytes), destination, stream, native);
}

struct Outcome {
  bool shown = false;
  int waits = 0;  ///< of the whole series
  /// At a transfer's end each hop into a staging place waits for it: these waits, of both
  /// transfers.
  std::set<int> first_hops;
  std::set<int> second_hops;
  /// The second transfer's first waits: the caller's stream waits for the rings, if it is a graph.
  std::set<int> second_rings;
};

// The last `count` of the waits so far, leaving out those on the caller's stream.
std::set<int> hop_waits(const WithoutWaits& driver, std::size_t count, StreamHandle caller) {
  std::set<int> found;
  for (std::size_t w = driver.waiting.size() - count; w < driver.waiting.size(); ++w)
    if (driver.waiting[w] != caller) found.insert(static_cast<int>(w));
  return found;
}

// By streams, the caller's stream waits for each hop at the end, too.
std::size_t waits_at_end(std::optional<Executor> executor) {
  return (executor == Executor::graph ? 1 : 2) * (kPaths.size() - 1);
}

// Two transfers on unrelated streams that share the staging memory, without some of the waits.
Outcome issue_pair(std::optional<Executor> first, std::optional<Executor> second,
                   const std::set<int>& left_out = {}) {
  Rig rig("beluga", small_settings());
  auto& driver = rig.use<WithoutWaits>(left_out);
  const StreamHandle one = rig.stream("gpu0");
  const StreamHandle other = rig.stream("gpu1");
  Outcome outcome;
  issue_between_neighbours(rig, one, kSize, first);
  outcome.first_hops = hop_waits(driver, waits_at_end(first), one);
  for (std::size_t w = 0; w + 1 < kPaths.size(); ++w)
    outcome.second_rings.insert(static_cast<int>(driver.waiting.size() + w));
  issue_between_neighbours(rig, other, kSize - 4096, second);
  outcome.second_hops = hop_waits(driver, waits_at_end(second), other);
  EXPECT_EQ(rig.statistics().fallbacks, 0U);
  EXPECT_EQ(rig.statistics().streams + rig.statistics().graphs, 2U);
  outcome.waits = static_cast<int>(driver.waiting.size());
  outcome.shown = shows(rig);
  return outcome;
}

// The waits each of which can be left out without anything to show for it.
std::set<int> redundant_waits(std::optional<Executor> first, std::optional<Executor> second) {
  const int waits = issue_pair(first, second).waits;
  std::set<int> redundant;
  for (int w = 0; w < waits; ++w)
    if (!issue_pair(first, second, {w}).shown) redundant.insert(w);
  return redundant;
}

std::set<int> operator+(std::set<int> a, const std::set<int>& b) {
  a.insert(b.begin(), b.end());
  return a;
}

constexpr auto kStream = Executor::stream;
constexpr auto kGraph = Executor::graph;

TEST(MissingWait, NothingIsShownWhenNoneIsMissing) {
  for (const std::optional<Executor> first : {kStream, kGraph})
    for (const std::optional<Executor> second : {kStream, kGraph})
      EXPECT_FALSE(issue_pair(first, second).shown);
}

TEST(MissingWait, EveryOneShowsWhenStreamsFollowStreams) {
  EXPECT_GT(issue_pair(kStream, kStream).waits, 50);
  EXPECT_THAT(redundant_waits(kStream, kStream), IsEmpty());
}

TEST(MissingWait, EveryOneShowsWhenStreamsFollowAGraph) {
  EXPECT_THAT(redundant_waits(kGraph, kStream), IsEmpty());
}

// A graph is launched in the caller's stream, which itself waits for the last use of every ring.
// That the hop's own stream waited for it, too, would serve only work on the hop's stream, and
// there is none before the graph's end, for which it waits again.
//
// That a graph is over is recorded once per ring, in one stream: all of these events stand for the
// same moment. So one of the waits for them may be missing as long as the others are there.
TEST(MissingWait, OnlyThoseAroundGraphsThatSayTheSameTwiceAreRedundant) {
  const Outcome after_streams = issue_pair(kStream, kGraph);
  const Outcome after_graph = issue_pair(kGraph, kGraph);

  EXPECT_EQ(redundant_waits(kStream, kGraph), after_streams.first_hops + after_streams.second_hops);
  EXPECT_EQ(redundant_waits(kGraph, kGraph),
            after_graph.first_hops + after_graph.second_rings + after_graph.second_hops);
}

TEST(MissingWait, WaitsThatSayTheSameAreNotAllRedundant) {
  const Outcome whole = issue_pair(kGraph, kGraph);

  EXPECT_FALSE(issue_pair(kGraph, kGraph, whole.first_hops).shown);
  EXPECT_TRUE(issue_pair(kGraph, kGraph, whole.second_rings).shown);
  EXPECT_TRUE(issue_pair(kGraph, kGraph, whole.second_hops).shown);
}

struct EdgeOutcome {
  bool shown = false;
  int edges = 0;
  bool same_hop = false;
};

EdgeOutcome issue_graph(int left_out) {
  Rig rig("beluga", small_settings());
  auto& driver = rig.use<WithoutOneEdge>(left_out);
  issue_between_neighbours(rig, rig.stream("gpu0"), kSize, Executor::graph);
  EXPECT_EQ(rig.statistics().graphs, 1U);
  const bool shown = shows(rig);
  return {shown, driver.edges, driver.same_hop};
}

// An edge between two copies over one hop keeps a chunk from overtaking another (the engine's rule
// 4). No byte depends on it: the two chunks have a slot each.
TEST(MissingEdge, EveryOneShowsButThoseThatOnlyKeepTheOrderOnAHop) {
  const int edges = issue_graph(-1).edges;
  ASSERT_GT(edges, 50);

  for (int edge = 0; edge < edges; ++edge) {
    const EdgeOutcome outcome = issue_graph(edge);
    EXPECT_NE(outcome.shown, outcome.same_hop) << "edge " << edge;
  }
}

}  // namespace
}  // namespace polypath::test::missing_dependency_test
