#include "communicator/bootstrap/nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/processes.h"

namespace polypath::test::nodes_test {
namespace {

using testing::ElementsAre;

TEST(Nodes, AreCountedInTheOrderOfTheirFirstRanks) {
  const Nodes nodes({"b", "a", "b", "c", "a"});

  EXPECT_EQ(nodes.count(), 3);
  EXPECT_THAT(nodes.ranks_on(0), ElementsAre(0, 2));
  EXPECT_THAT(nodes.ranks_on(1), ElementsAre(1, 4));
  EXPECT_EQ(nodes.of(3), 2);
  EXPECT_EQ(nodes.local_rank(4), 1);
  EXPECT_EQ(nodes.local_rank(3), 0);
}

TEST(Nodes, AreTheSameForProcessesThatShareMemory) {
  const std::string here = this_node();

  EXPECT_EQ(test::exit_status_of([&] { return this_node() == here ? 0 : 1; }), 0);
}

TEST(Nodes, DifferWhereMemoryIsNotShared) {
  const std::string here = this_node();

  const int status = test::exit_status_of([&] {
    if (!test::processes::enter_namespaces(CLONE_NEWIPC)) return 77;
    return this_node() == here ? 1 : 0;
  });

  if (status == 77) GTEST_SKIP() << "the system permits no namespaces";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace polypath::test::nodes_test
