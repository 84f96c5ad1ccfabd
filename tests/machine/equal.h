#pragma once
// Two machines compared field by field, so that a failure names the field.

#include <gtest/gtest.h>

#include "machine/driver_fields.h"
#include "machine/machine.h"

namespace polypath::machine {

inline void expect_equal(const Place& a, const Place& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.model, b.model);
  EXPECT_EQ(a.numa_node, b.numa_node);
  EXPECT_EQ(a.staging_latency, b.staging_latency);
  EXPECT_EQ(a.relay_latency, b.relay_latency);
  EXPECT_EQ(a.busy_latency, b.busy_latency);
  EXPECT_EQ(a.reduction_latency, b.reduction_latency);
  EXPECT_EQ(a.reduction_bandwidth, b.reduction_bandwidth);
  EXPECT_EQ(a.staging_missing, b.staging_missing);
  EXPECT_EQ(a.node, b.node);
}

inline void expect_equal(const Resource& a, const Resource& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.capacity, b.capacity);
  EXPECT_EQ(a.copies_at_once, b.copies_at_once);
  EXPECT_EQ(a.burst.rate, b.burst.rate);
  EXPECT_EQ(a.burst.size, b.burst.size);
}

inline void expect_equal(const Use& a, const Use& b) {
  EXPECT_EQ(a.resource, b.resource);
  EXPECT_EQ(a.weight, b.weight);
}

inline void expect_equal(const Hop& a, const Hop& b) {
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.destination, b.destination);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.latency, b.latency);
  EXPECT_EQ(a.bandwidth, b.bandwidth);
  ASSERT_EQ(a.uses.size(), b.uses.size());
  for (std::size_t i = 0; i < a.uses.size(); ++i) {
    EXPECT_EQ(a.uses[i].resource, b.uses[i].resource);
    EXPECT_EQ(a.uses[i].weight, b.uses[i].weight);
  }
}

template <class Item>
void expect_equal(const std::vector<Item>& a, const std::vector<Item>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(i);
    expect_equal(a[i], b[i]);
  }
}

inline void expect_equal(const CallCosts& a, const CallCosts& b) {
  EXPECT_EQ(a.copy, b.copy);
  EXPECT_EQ(a.event_record, b.event_record);
  EXPECT_EQ(a.event_wait, b.event_wait);
  EXPECT_EQ(a.synchronize, b.synchronize);
  EXPECT_EQ(a.graph_launch, b.graph_launch);
  EXPECT_EQ(a.graph_launch_node, b.graph_launch_node);
  EXPECT_EQ(a.graph_instantiate, b.graph_instantiate);
  EXPECT_EQ(a.graph_instantiate_node, b.graph_instantiate_node);
  EXPECT_EQ(a.graph_update_node, b.graph_update_node);
  EXPECT_EQ(a.threads_hold_up, b.threads_hold_up);
}

inline void expect_equal(const DriverBehaviour& a, const DriverBehaviour& b) {
  for (const DriverField& field : driver_fields())
    EXPECT_EQ(field.value_in(a), field.value_in(b)) << field.name;
}

inline void expect_equal(const NetworkEnd& a, const NetworkEnd& b) {
  EXPECT_EQ(a.place, b.place);
  expect_equal(a.out, b.out);
  expect_equal(a.in, b.in);
}

inline void expect_equal(const std::optional<Network>& a, const std::optional<Network>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  if (!a) return;
  EXPECT_EQ(a->latency, b->latency);
  EXPECT_EQ(a->bandwidth, b->bandwidth);
  expect_equal(a->ends, b->ends);
}

inline void expect_equal(const Machine& a, const Machine& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.description, b.description);
  expect_equal(a.places, b.places);
  expect_equal(a.resources, b.resources);
  expect_equal(a.hops, b.hops);
  expect_equal(a.costs, b.costs);
  expect_equal(a.driver, b.driver);
  expect_equal(a.network, b.network);
}

}  // namespace polypath::machine
