#include "driver/cuda/verified_peers.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "core/files.h"

namespace polypath::cuda::verified_peers_test {
namespace {

class VerifiedPeersFile : public testing::Test {
 protected:
  VerifiedPeersFile() {
    std::string pattern = testing::TempDir() + "peersXXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~VerifiedPeersFile() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path() const { return folder_ + "/polypath/peers.json"; }
  [[nodiscard]] VerifiedPeers at(const std::string& boot,
                                 const std::string& driver = "580.1") const {
    return {path(), {boot, driver}};
  }
  void write(const std::string& text) const {
    std::filesystem::create_directories(folder_ + "/polypath");
    std::ofstream(path()) << text;
  }

 private:
  std::string folder_;
};

TEST_F(VerifiedPeersFile, TellsTheNextProcessWhatThisOneSaw) {
  VerifiedPeers first = at("monday");
  first.note("0000:1b:00.0", "0000:2a:00.0", true);
  first.note("0000:2a:00.0", "0000:1b:00.0", false);

  VerifiedPeers next = at("monday");

  EXPECT_EQ(next.arrive("0000:1b:00.0", "0000:2a:00.0"), true);
  EXPECT_EQ(next.arrive("0000:2a:00.0", "0000:1b:00.0"), false);
  EXPECT_EQ(next.arrive("0000:1b:00.0", "0000:39:00.0"), std::nullopt);
}

TEST_F(VerifiedPeersFile, KeepsWhatAnotherProcessSawMeanwhile) {
  VerifiedPeers one = at("monday"), other = at("monday");
  EXPECT_EQ(one.arrive("a", "b"), std::nullopt);

  other.note("a", "b", true);
  one.note("c", "d", true);

  VerifiedPeers next = at("monday");
  EXPECT_EQ(next.arrive("a", "b"), true);
  EXPECT_EQ(next.arrive("c", "d"), true);
}

TEST_F(VerifiedPeersFile, CountsForOneStartAndOneDriver) {
  at("monday").note("a", "b", true);

  EXPECT_EQ(at("tuesday").arrive("a", "b"), std::nullopt);
  EXPECT_EQ(at("monday", "581.2").arrive("a", "b"), std::nullopt);
}

TEST_F(VerifiedPeersFile, IsNoneWhereItIsDamaged) {
  for (const char* text : {"", "{", "[]", "{\"schema\": 1}", "{\"schema\": \"polypath.peers/1\"}",
                           "{\"schema\": \"polypath.peers/1\", \"boot\": \"monday\", \"driver\": "
                           "\"580.1\", \"pairs\": [{\"accessing\": \"a\"}]}"}) {
    write(text);
    VerifiedPeers peers = at("monday");
    EXPECT_EQ(peers.arrive("a", "b"), std::nullopt) << text;

    peers.note("a", "b", false);
    EXPECT_EQ(at("monday").arrive("a", "b"), false) << text;
  }
}

TEST_F(VerifiedPeersFile, MayBeMissing) {
  VerifiedPeers nowhere("", {"monday", "580.1"});
  nowhere.note("a", "b", true);
  EXPECT_EQ(nowhere.arrive("a", "b"), true);

  VerifiedPeers refused("/dev/null/polypath/peers.json", {"monday", "580.1"});
  refused.note("a", "b", true);
  EXPECT_EQ(refused.arrive("a", "b"), true);
}

}  // namespace
}  // namespace polypath::cuda::verified_peers_test
