// Memory of other processes in graphs, which keep addresses from one launch to the next.

#include <gmock/gmock.h>

#include "api/preload/imports/driver_of_imports.h"
#include "support/layers.h"

namespace polypath::test::graph_imports_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Of the copy from its owner, in whose context the node is.
TEST_F(DriverOfImports, GraphsUseTheMappingOfEachNodesContext) {
  const CopyRequest copy = to(1);
  const GraphHandle made = driver_.instantiate({{copy, {}}});
  const StreamHandle stream = driver_.create_stream(gpu(1));
  const Address mapped = driver_.imports().reach(base_, context_of(0)).address;
  EXPECT_THAT(journal(), ElementsAre(opened(mapped, 0)));

  driver_.launch(made, stream);

  EXPECT_TRUE(unmapping_waits_for(stream));
  EXPECT_THAT(journal(), ElementsAre(closed(mapped, 0)));
  EXPECT_TRUE(same_bytes(arrived(copy, stream), part(contents(1))));
  driver_.destroy_graph(made);
}

// The graph is the same, the program's addresses are the same, but the memory is not.
TEST_F(DriverOfImports, GraphsFollowWhenTheMemoryIsMappedAnew) {
  const CopyRequest copy = to(1);
  const GraphHandle made = driver_.instantiate({{copy, {}}});
  const StreamHandle stream = driver_.create_stream(gpu(1));
  driver_.launch(made, stream);
  driver_.imports().remove(base_);
  driver_.imports().add(memory(2), exported);
  (void)journal();

  driver_.launch(made, stream);

  const Address mapped = driver_.imports().reach(base_, context_of(0)).address;
  EXPECT_THAT(journal(), ElementsAre(opened(mapped, 0)));
  EXPECT_TRUE(unmapping_waits_for(stream));
  EXPECT_TRUE(same_bytes(arrived(copy, stream), part(contents(2))));
  driver_.destroy_graph(made);
}

// Memory of this process has taken the address.
TEST_F(DriverOfImports, GraphsForgetAMappingThatIsNoMore) {
  const CopyRequest copy = to(1);
  const GraphHandle made = driver_.instantiate({{copy, {}}});
  const StreamHandle stream = driver_.create_stream(gpu(1));
  driver_.imports().remove(base_);
  (void)journal();

  driver_.launch(made, stream);

  EXPECT_TRUE(same_bytes(arrived(copy, stream), at_the_programs_address()));
  EXPECT_THAT(journal(), IsEmpty());
  driver_.destroy_graph(made);
}

// And the other way round.
TEST_F(DriverOfImports, GraphsSeeThatAnAddressHasBecomeAnImport) {
  driver_.imports().remove(base_);
  const CopyRequest copy = to(1);
  const GraphHandle made = driver_.instantiate({{copy, {}}});
  const StreamHandle stream = driver_.create_stream(gpu(1));
  driver_.imports().add(memory(), exported);
  (void)journal();

  driver_.launch(made, stream);

  const Address mapped = driver_.imports().reach(base_, context_of(0)).address;
  EXPECT_THAT(journal(), ElementsAre(opened(mapped, 0)));
  EXPECT_TRUE(unmapping_waits_for(stream));
  EXPECT_TRUE(same_bytes(arrived(copy, stream), part(contents(1))));
  driver_.destroy_graph(made);
}

TEST_F(DriverOfImports, AnUpdatedNodeReachesItsNewMemory) {
  const Address other = map(1, exporter_.memory(kSize, 0));
  driver_.imports().add(memory(9, other), exported);
  CopyRequest copy = to(1);
  const GraphHandle made = driver_.instantiate({{copy, {}}});
  const StreamHandle stream = driver_.create_stream(gpu(1));
  copy.destination = allocate(1, kCopied);
  (void)journal();

  driver_.update_node(made, 0, copy.destination, other + kOffset);

  const Address mapped = driver_.imports().reach(other, context_of(0)).address;
  EXPECT_THAT(journal(), ElementsAre(opened(mapped, 0)));
  driver_.launch(made, stream);
  EXPECT_TRUE(same_bytes(arrived(copy, stream), part(contents(9))));
  driver_.destroy_graph(made);
  driver_.imports().remove(other);
}

}  // namespace
}  // namespace polypath::test::graph_imports_test
