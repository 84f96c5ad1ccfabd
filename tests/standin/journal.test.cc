// The journal: what the driver was asked to map of other processes' memory, in its own words.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "standin/peer.h"
#include "support/layers.h"

namespace polypath::test::journal_test {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;

class StandInJournal : public testing::Test {
 protected:
  StandInJournal() {
    for (Peer* peer : {&exporter_, &importer_}) {
      EXPECT_EQ(peer->ask("init"), "ok");
      EXPECT_EQ(peer->ask("device 1"), "ok");
    }
  }
  ~StandInJournal() override { fs::remove(file_); }

  std::string exported() { return exporter_.ask("export " + exporter_.ask("alloc 4096")); }
  [[nodiscard]] std::vector<std::string> lines() const {
    std::ifstream file(file_);
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }
  /// The line of a call that has succeeded; the importer says addresses as decimal numbers.
  static std::string line(const std::string& call, const std::string& address) {
    std::ostringstream text;
    text << call << " 0x" << std::hex << std::stoull(address) << " 0";
    return text.str();
  }

  std::string file_ = fs::temp_directory_path() / ("standin_" + std::to_string(getpid()));
  std::string variable_ = "STANDIN_JOURNAL=" + file_;
  Peer exporter_, importer_{{variable_}};
};

TEST_F(StandInJournal, HasALineForEachHandleThatIsOpenedOrClosed) {
  const std::string handle = exported();
  const std::string mapped = importer_.ask("open " + handle);
  importer_.ask("open " + handle);
  importer_.ask("device 2");
  const std::string elsewhere = importer_.ask("open " + handle);

  importer_.ask("close " + mapped);

  EXPECT_THAT(lines(), ElementsAre(line("cuIpcOpenMemHandle gpu1", mapped),
                                   line("cuIpcOpenMemHandle gpu1", mapped),
                                   line("cuIpcOpenMemHandle gpu2", elsewhere),
                                   line("cuIpcCloseMemHandle gpu2", mapped)));
}

TEST_F(StandInJournal, HasThoseThatWereRefusedToo) {
  importer_.ask("open " + std::string(128, '0'));
  importer_.ask("close 4096");

  EXPECT_THAT(lines(),
              ElementsAre("cuIpcOpenMemHandle gpu1 0x0 1", "cuIpcCloseMemHandle gpu1 0x1000 1"));
}

// What fails on request (STANDIN_FAIL) is among them.
TEST_F(StandInJournal, HasWhatFailsOnRequest) {
  Peer failing({variable_, "STANDIN_FAIL=cuIpcOpenMemHandle:1:2"});
  failing.ask("init");
  failing.ask("device 3");

  EXPECT_EQ(failing.ask("open " + exported()), "error 2");

  EXPECT_THAT(lines(), ElementsAre("cuIpcOpenMemHandle gpu3 0x0 2"));
}

}  // namespace
}  // namespace polypath::test::journal_test
