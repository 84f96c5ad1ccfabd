// Graphs made by hand.

#include "standin/graph_program.h"
#include "support/layers.h"

namespace polypath::test::graphs_test {
namespace {

TEST_F(StandInGraphs, NodesRunInTheirOrderAndMayGetOtherAddresses) {
  const Contents sent = pattern(kLarge, 1), other = pattern(kLarge, 2);
  const DevicePointer first = device(sent), second = device(kLarge, 1), third = device(kLarge);
  const DevicePointer elsewhere = device(other);
  GraphPointer graph = nullptr;
  ASSERT_EQ(cu("cuGraphCreate", &graph, 0U), 0);
  const GraphNodePointer node = add(graph, linear(second, first, kLarge), {});
  add(graph, linear(third, second, kLarge), {node});
  const GraphExecPointer executable = instantiate(graph);
  const StreamPointer queue = stream();

  launch(executable, queue);
  EXPECT_TRUE(same_bytes(read(third, kLarge), sent));
  const Memcpy3D changed = linear(second, elsewhere, kLarge);
  ASSERT_EQ(cu("cuGraphExecMemcpyNodeSetParams", executable, node, &changed, contexts_[0]), 0);
  launch(executable, queue);

  EXPECT_TRUE(same_bytes(read(third, kLarge), other));
  EXPECT_EQ(cu("cuGraphExecDestroy", executable), 0);
  EXPECT_EQ(cu("cuGraphDestroy", graph), 0);
}

TEST_F(StandInGraphs, WhatCannotBeUpdatedIsRefused) {
  const DevicePointer first = device(kSmall), second = device(kSmall, 1);
  GraphPointer graph = nullptr, stranger = nullptr;
  ASSERT_EQ(cu("cuGraphCreate", &graph, 0U), 0);
  ASSERT_EQ(cu("cuGraphCreate", &stranger, 0U), 0);
  const GraphNodePointer node = add(graph, linear(second, first, kSmall), {});
  const GraphNodePointer other = add(stranger, linear(second, first, kSmall), {});
  const GraphExecPointer executable = instantiate(graph);
  const Memcpy3D shorter = linear(second, first, kSmall / 2);
  const Memcpy3D same = linear(second, first, kSmall);

  EXPECT_EQ(cu("cuGraphExecMemcpyNodeSetParams", executable, node, &shorter, contexts_[0]),
            standin::kGraphUpdateFailure);
  EXPECT_EQ(cu("cuGraphExecMemcpyNodeSetParams", executable, other, &same, contexts_[0]),
            cuda::kInvalidValue);
}

}  // namespace
}  // namespace polypath::test::graphs_test
