#include "core/process.h"

#include <gmock/gmock.h>
#include <sys/prctl.h>

#include "support/layers.h"

namespace polypath::test::process_test {
namespace {

using testing::StartsWith;

TEST(Process, HasTheNameThatTheProcessListShows) {
  EXPECT_THAT(program_name(), StartsWith("test_"));
}

// /proc/self is the process, whichever thread asks; its name ends with a line feed there.
TEST(Process, ItsNameMayHoldAnything) {
  const std::string before = program_name();
  prctl(PR_SET_NAME, "a b) {\"}\n");

  const std::string name = program_name();

  prctl(PR_SET_NAME, before.c_str());
  EXPECT_EQ(name, "a b) {\"}\n");
}

}  // namespace
}  // namespace polypath::test::process_test
