// Device memory in other programs: two real processes that see the same bytes.

#include <csignal>

#include "standin/ipc_programs.h"
#include "support/layers.h"

namespace polypath::test::ipc_test {
namespace {

TEST_F(StandInIpc, BothProgramsSeeTheSameBytes) {
  const std::string memory = exported(100003, 1);
  const std::string mapped = importer_.ask("open " + exporter_.ask("export " + memory));

  EXPECT_TRUE(holds(importer_, mapped, 100003, 1));
  EXPECT_EQ(importer_.ask("write " + mapped + say(100003, 2)), "ok");
  EXPECT_TRUE(holds(exporter_, memory, 100003, 2));
  EXPECT_EQ(importer_.ask("close " + mapped), "ok");
}

TEST_F(StandInIpc, CopiesGoBothWaysThroughTheMapping) {
  const std::string memory = exported(1 << 20, 1);
  const std::string mapped = importer_.ask("open " + exporter_.ask("export " + memory));
  const std::string own = importer_.ask("alloc 1048576");

  EXPECT_EQ(importer_.ask("copy " + own + " " + mapped + " 1048576"), "ok");
  EXPECT_TRUE(holds(importer_, own, 1 << 20, 1));
  EXPECT_EQ(importer_.ask("write " + own + say(1 << 20, 2)), "ok");
  EXPECT_EQ(importer_.ask("copy " + after(mapped, 13) + " " + own + " 1000"), "ok");

  EXPECT_TRUE(holds(exporter_, after(memory, 13), 1000, 2));
  EXPECT_FALSE(holds(exporter_, after(memory, 13), 1001, 2));
}

// The simulated copies go over the hop between the owner's GPU and the other end.
TEST_F(StandInIpc, CopiesOfAMappingUseTheOwnersGpu) {
  Peer counting({"STANDIN_STATISTICS=1"});
  start(counting, 3);
  const std::string mapped = counting.ask("open " + exporter_.ask("export " + exported(4096, 1)));
  const std::string own = counting.ask("alloc 4096");

  EXPECT_EQ(counting.ask("copy " + own + " " + mapped + " 4096"), "ok");
  EXPECT_EQ(counting.quit(), 0) << counting.complaints();

  EXPECT_NE(counting.complaints().find("gpu0 to gpu3 copies 1 bytes 4096"), std::string::npos);
}

TEST_F(StandInIpc, AMappingNamesTheImportersGpuAndTheWholeAllocation) {
  const std::string memory = exported(5000, 1);
  const std::string mapped = importer_.ask("open " + exporter_.ask("export " + after(memory, 77)));

  EXPECT_EQ(importer_.ask("ordinal " + mapped), "1");
  EXPECT_EQ(importer_.ask("size " + after(mapped, 4999)), "5000");
  EXPECT_EQ(importer_.ask("device 2"), "ok");
  EXPECT_EQ(importer_.ask("size " + mapped), kNotFound);
  EXPECT_TRUE(holds(importer_, mapped, 5000, 1));
}

TEST_F(StandInIpc, TheHostCannotTouchAMapping) {
  const std::string mapped = importer_.ask("open " + exporter_.ask("export " + exported(4096, 1)));

  EXPECT_EQ(importer_.ask("touch " + mapped), "");
  EXPECT_EQ(importer_.quit(), -SIGSEGV) << importer_.complaints();
}

// One mapping per context, counted; the same address for the same context.
TEST_F(StandInIpc, EachContextHasAMappingOfItsOwn) {
  const std::string handle = exporter_.ask("export " + exported(4096, 1));

  const std::string first = importer_.ask("open " + handle);
  EXPECT_EQ(importer_.ask("open " + handle), first);
  EXPECT_EQ(importer_.ask("device 2"), "ok");
  const std::string second = importer_.ask("open " + handle);

  EXPECT_NE(second, first);
  EXPECT_EQ(importer_.ask("ordinal " + first), "1");
  EXPECT_EQ(importer_.ask("ordinal " + second), "2");
  EXPECT_EQ(importer_.ask("write " + second + say(4096, 7)), "ok");
  EXPECT_TRUE(holds(importer_, first, 4096, 7));
  EXPECT_EQ(importer_.ask("close " + second), "ok");
  EXPECT_EQ(importer_.ask("close " + first), "ok");
  EXPECT_TRUE(holds(importer_, first, 4096, 7));  // opened twice, closed once
  EXPECT_EQ(importer_.ask("close " + first), "ok");
  EXPECT_EQ(importer_.ask("close " + first), kInvalidValue);
  EXPECT_EQ(importer_.ask("check " + first + say(4096, 7)), kInvalidValue);
}

TEST_F(StandInIpc, TheOwnersGpuMayBeHidden) {
  Peer hiding({"CUDA_VISIBLE_DEVICES=2"});
  start(hiding, 0);

  const std::string mapped = hiding.ask("open " + exporter_.ask("export " + exported(4096, 1)));

  EXPECT_TRUE(holds(hiding, mapped, 4096, 1));
  EXPECT_EQ(hiding.ask("ordinal " + mapped), "0");
}

}  // namespace
}  // namespace polypath::test::ipc_test
