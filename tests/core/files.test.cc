#include "core/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "support/layers.h"

namespace polypath::test::files_test {
namespace {

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::FILE* file = std::fopen(path_.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    std::fputs("seven\nbytes", file);
    std::fclose(file);
  }
  void TearDown() override { std::remove(path_.c_str()); }

  std::string path_ = testing::TempDir() + "polypath-files-" + std::to_string(getpid());
};

TEST_F(Files, AreReadWhole) { EXPECT_EQ(read_file(path_, 100), "seven\nbytes"); }

TEST_F(Files, AreReadUpToTheLimit) { EXPECT_EQ(read_file(path_, 7), "seven\nb"); }

TEST_F(Files, ThatCannotBeReadSayWhy) {
  EXPECT_EQ(why_unreadable(path_), "");
  EXPECT_EQ(why_unreadable(path_ + "-not"), "there is no such file");
  EXPECT_EQ(why_unreadable("/tmp"), "it is a folder");
  EXPECT_THAT(why_unreadable("/dev/zero"), testing::HasSubstr("no plain file"));
}

TEST_F(Files, ThatAreNotThereAreNothing) { EXPECT_FALSE(read_file(path_ + "-not", 7)); }

}  // namespace
}  // namespace polypath::test::files_test
