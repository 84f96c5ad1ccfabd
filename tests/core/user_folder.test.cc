#include "core/user_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support/layers.h"

namespace polypath::test::user_folder_test {
namespace {

class UserFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    parent_ = testing::TempDir() + "polypath_user_folder_" + std::to_string(getpid());
    std::filesystem::create_directory(parent_);
  }
  void TearDown() override { std::filesystem::remove_all(parent_); }

  std::string parent_;
};

TEST_F(UserFolderTest, IsMadeForThisUserOnly) {
  const std::string path = parent_ + "/new";

  const UserFolder folder(path);

  struct stat about {};
  ASSERT_EQ(folder.problem(), "");
  ASSERT_EQ(stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0700U);
  EXPECT_TRUE(folder.open().is_open());
}

TEST_F(UserFolderTest, OneThatIsOpenToOthersIsNotUsed) {
  const std::string path = parent_ + "/open";
  mkdir(path.c_str(), 0755);
  chmod(path.c_str(), 0755);

  const UserFolder folder(path);

  EXPECT_NE(folder.problem().find("open to others"), std::string::npos) << folder.problem();
  EXPECT_FALSE(folder.open().is_open());
}

TEST_F(UserFolderTest, ALinkIsNotFollowed) {
  const std::string target = parent_ + "/target", link = parent_ + "/link";
  mkdir(target.c_str(), 0700);
  std::filesystem::create_directory_symlink(target, link);

  const UserFolder folder(link);

  EXPECT_NE(folder.problem(), "");
}

TEST_F(UserFolderTest, ARelativePathIsNotUsed) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(parent_);

  const UserFolder folder("here");

  std::filesystem::current_path(before);
  EXPECT_EQ(folder.problem(), "here does not begin at the root");
  EXPECT_FALSE(std::filesystem::exists(parent_ + "/here"));
}

TEST_F(UserFolderTest, WithoutAPathThereIsNone) { EXPECT_NE(UserFolder("").problem(), ""); }

}  // namespace
}  // namespace polypath::test::user_folder_test
