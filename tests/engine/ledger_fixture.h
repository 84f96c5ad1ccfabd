#pragma once
// A ledger of beluga's GPUs in a folder of its own, for tests of it and of its table.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/load/node_ledger.h"
#include "machine/load_machine.h"
#include "support/processes.h"

namespace polypath::test {

class LedgerFixture : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<NodeLedger> open_ledger() {
    auto ledger = std::make_unique<NodeLedger>(folder_, machine_, names());
    EXPECT_EQ(ledger->problem(), "");
    return ledger;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    static const std::vector<std::string> all{"0000:01:00.0", "0000:02:00.0", "0000:03:00.0",
                                              "0000:04:00.0", "node0",        "node1"};
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(machine_.places.size())};
  }

  // A transfer from gpu0 to gpu1 in flight for the next second.
  LedgerEntry running(const NodeLedger& ledger, double seconds = 1) {
    Load load(machine_.resources.size());
    load[0] = 5_GBps;
    LedgerEntry entry = ledger.entry({0}, {1}, 64_MiB, load);
    entry.duration = seconds;
    entry.end = NodeLedger::now() + seconds;
    return entry;
  }

  // When no process is believed any more without a look whether it is still there.
  const double kMuchLater = NodeLedger::now() + 60;
  Machine machine_ = load_machine("beluga");
  std::string folder_ = testing::TempDir() + "polypath_ledger_" + std::to_string(getpid());
};

}  // namespace polypath::test
