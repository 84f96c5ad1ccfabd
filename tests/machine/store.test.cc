// Calibrated machines as files: written whole, read back, and never believed when damaged.

#include "machine/store.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "machine/equal.h"
#include "machine/fingerprint.h"
#include "machine/load_machine.h"
#include "support/errors.h"
#include "support/source_path.h"

namespace polypath::test::store_test {
namespace {

namespace fs = std::filesystem;

class Store : public testing::Test {
 protected:
  Store() {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::temp_directory_path() / ("polypath_store_" + test);
    fs::remove_all(folder_);
    ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    measured_.hops[0].latency = 5_us;
    measured_.resources[0].capacity = 48.5_GBps;
    provenance_.places.resize(nominal_.places.size());
    provenance_.resources.resize(nominal_.resources.size());
    provenance_.bursts.resize(nominal_.resources.size());
    provenance_.latencies.resize(nominal_.hops.size());
    provenance_.bandwidths.resize(nominal_.hops.size());
    provenance_.costs.resize(cost_fields().size());
    provenance_.latencies[0] = "measured today";
    provenance_.resources[0] = "measured today, too";
    provenance_.nominal = nominal_;
  }
  ~Store() override {
    ::unsetenv("XDG_CACHE_HOME");
    fs::remove_all(folder_);
  }
  [[nodiscard]] std::string text() const { return machine_to_json(measured_, provenance_); }
  [[nodiscard]] std::string path() const { return calibration_path(nominal_, "sim"); }

  fs::path folder_;
  Machine nominal_ = load_machine("beluga");
  Machine measured_ = nominal_;
  Provenance provenance_;
};

TEST_F(Store, IsInTheUsersCache) {
  EXPECT_EQ(path(), (folder_ / "polypath" / (fingerprint(nominal_) + "-sim.json")).string());
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_THAT(path(), testing::HasSubstr("/.cache/polypath/"));
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_THAT(path(), testing::HasSubstr("/.cache/polypath/"));
}

TEST_F(Store, HasNothingAtFirst) { EXPECT_FALSE(stored_calibration(nominal_, "sim")); }

TEST_F(Store, GivesBackMeasuredAndNominalNumbers) {
  write_whole(path(), text());

  const auto found = stored_calibration(nominal_, "sim");

  ASSERT_TRUE(found);
  expect_equal(found->measured, measured_);
  expect_equal(found->nominal, nominal_);
  EXPECT_EQ(found->file, path());
}

TEST_F(Store, KeepsSimulatedAndRealApart) {
  write_whole(path(), text());

  EXPECT_FALSE(stored_calibration(nominal_, "cuda"));
}

TEST_F(Store, LeavesNoTemporaryFiles) {
  write_whole(path(), "old");
  write_whole(path(), text());

  const auto files = std::distance(fs::directory_iterator(folder_ / "polypath"), {});

  EXPECT_EQ(files, 1);
}

TEST_F(Store, SaysWhyItCannotWrite) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "polypath") << "a file where a folder should be";

  expect_error(
      ErrorCode::unsupported, [&] { write_whole(path(), text()); }, path(), "cannot be written");
}

// Cut off at any byte: an error that names the file, or the whole file's numbers.
TEST_F(Store, IsNeverBelievedWhenDamaged) {
  const std::string whole = text();
  for (std::size_t size = 0; size + 2 < whole.size(); size += 997) {
    write_whole(path(), whole.substr(0, size));

    expect_error(
        ErrorCode::invalid_machine, [&] { (void)stored_calibration(nominal_, "sim"); }, path());
  }
}

TEST_F(Store, IsNeverBelievedWhenItIsAnotherMachines) {
  write_whole(path(), machine_to_json(nominal_));  // no measured numbers
  expect_error(
      ErrorCode::invalid_machine, [&] { (void)stored_calibration(nominal_, "sim"); }, path(),
      "it is no calibration of machine 'beluga'");

  measured_.places[0].model = provenance_.nominal.places[0].model = "H200";
  write_whole(path(), text());
  expect_error(
      ErrorCode::invalid_machine, [&] { (void)stored_calibration(nominal_, "sim"); }, path(),
      "it is no calibration of machine 'beluga'");
}

TEST_F(Store, LeavesNothingOfWhatCannotBeWritten) {
  fs::create_directories(path());  // no file takes the place of a folder

  expect_error(
      ErrorCode::unsupported, [&] { write_whole(path(), text()); }, path());

  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "polypath"), {}), 1);
}

TEST_F(Store, ReadsAFileByItsPath) {
  fs::create_directories(folder_);
  const std::string file = (folder_ / "mine.json").string();
  write_whole(file, text());

  ASSERT_TRUE(read_calibration(file));
  EXPECT_EQ(load_machine(file).hops[0].latency, 5_us);
  EXPECT_FALSE(read_calibration(source_path("machines/beluga.json")));
}

}  // namespace
}  // namespace polypath::test::store_test
