// Quotas of control groups, of both versions, as files of /proc and /sys say them.

#include "core/cpu_quota.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/layers.h"

namespace polypath::test::cpu_quota_test {
namespace {

namespace fs = std::filesystem;

class CpuQuota : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "cpu_quota_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void second_version(const std::string& group, const std::string& shown = "/",
                      const std::string& folder = "/sys/fs/cgroup") const {
    write("/proc/self/cgroup", "0::" + group + "\n");
    write("/proc/self/mountinfo",
          "22 27 0:21 / /sys rw,nosuid - sysfs sysfs rw\n"
          "30 22 0:26 " +
              shown + " " + folder + " rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
  }
  [[nodiscard]] std::optional<int> quota() const { return cpu_quota(root_); }

  std::string root_;
};

TEST_F(CpuQuota, NothingIsKnownWithoutFiles) { EXPECT_EQ(quota(), std::nullopt); }

TEST_F(CpuQuota, MaxIsNoLimit) {
  second_version("/job");
  write("/sys/fs/cgroup/job/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), std::nullopt);
}

TEST_F(CpuQuota, WholeCpusCount) {
  second_version("/job");
  write("/sys/fs/cgroup/job/cpu.max", "250000 100000\n");
  EXPECT_EQ(quota(), 2);
}

TEST_F(CpuQuota, APartOfOneIsOne) {
  second_version("/");
  write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota(), 1);
}

TEST_F(CpuQuota, TheLeastOfAllGroupsAboveCounts) {
  second_version("/slice/pod/container");
  write("/sys/fs/cgroup/slice/pod/container/cpu.max", "800000 100000\n");
  write("/sys/fs/cgroup/slice/pod/cpu.max", "300000 100000\n");
  write("/sys/fs/cgroup/slice/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 3);
}

TEST_F(CpuQuota, AContainerSeesItsOwnGroupAsTheRoot) {
  second_version("/docker/abc", "/docker/abc");
  write("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota(), 4);
}

TEST_F(CpuQuota, AGroupOutsideOfWhatIsShownIsTheRoot) {
  second_version("/../other");
  write("/sys/fs/cgroup/cpu.max", "500000 100000\n");
  EXPECT_EQ(quota(), 5);
}

TEST_F(CpuQuota, FoldersMayHaveBlanks) {
  second_version("/", "/", "/my\\040groups");
  write("/my groups/cpu.max", "600000 100000\n");
  EXPECT_EQ(quota(), 6);
}

class FirstVersion : public CpuQuota {
 protected:
  void first_version(const std::string& quota_us) const {
    write("/proc/self/cgroup", "7:memory:/job\n4:cpu,cpuacct:/job/step\n0::/\n");
    write("/proc/self/mountinfo",
          "31 22 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
          "32 22 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n");
    write("/sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_quota_us", quota_us);
    write("/sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_period_us", "50000\n");
  }
};

TEST_F(FirstVersion, MinusOneIsNoLimit) {
  first_version("-1\n");
  EXPECT_EQ(quota(), std::nullopt);
}

TEST_F(FirstVersion, TheQuotaIsOfThePeriod) {
  first_version("350000\n");
  EXPECT_EQ(quota(), 7);
}

TEST_F(FirstVersion, GroupsAboveCountToo) {
  first_version("350000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "200000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 2);
}

TEST_F(CpuQuota, OddTextIsNoLimit) {
  second_version("/job");
  for (const char* text : {"", "x y\n", "0 100000\n", "100000\n", "100000 0\n", "-5 100000\n"}) {
    write("/sys/fs/cgroup/job/cpu.max", text);
    EXPECT_EQ(quota(), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace polypath::test::cpu_quota_test
