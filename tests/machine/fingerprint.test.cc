#include "machine/fingerprint.h"

#include <gtest/gtest.h>

#include <set>

#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::fingerprint_test {
namespace {

TEST(Fingerprint, DoesNotDependOnNumbers) {
  const Machine machine = load_machine("beluga");
  Machine measured = machine;
  measured.description = "something else";
  measured.hops[0].latency = 1_us;
  measured.hops[0].bandwidth = 1_GBps;
  measured.places[0].staging_latency = 1_us;
  measured.costs = {};
  for (Resource& resource : measured.resources)
    if (resource.copies_at_once == 0) resource.capacity = 1_GBps;

  EXPECT_EQ(fingerprint(measured), fingerprint(machine));
}

TEST(Fingerprint, DependsOnTheStructure) {
  const Machine machine = load_machine("beluga");
  std::vector<Machine> others(7, machine);
  others[0].name = "beluga2";
  others[1].places[0].model = "A100";
  others[2].places[0].numa_node = 1;
  others[3].resources[0].copies_at_once = 2;
  others[4].hops.pop_back();
  others[5].hops[0].uses.pop_back();
  others[6].hops[0].uses[0].weight = 2;

  std::set<std::string> prints = {fingerprint(machine)};
  for (const Machine& other : others) prints.insert(fingerprint(other));

  EXPECT_EQ(prints.size(), 8U);
}

// Files in users' caches are found by it: a change here makes them all unknown.
TEST(Fingerprint, StaysWhatItIs) {
  EXPECT_EQ(fingerprint(load_machine("h200x4")), "fde878542c1b6cad");
}

TEST(Fingerprint, TellsTheZooApart) {
  std::set<std::string> prints;
  for (const std::string& name : zoo_names()) prints.insert(fingerprint(load_machine(name)));

  EXPECT_EQ(prints.size(), zoo_names().size());
}

}  // namespace
}  // namespace polypath::test::fingerprint_test
