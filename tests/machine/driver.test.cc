// What machine files say of the driver: defaults, other values, and what is said about wrong ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "machine/driver_fields.h"
#include "machine/equal.h"
#include "machine/load_machine.h"
#include "support/errors.h"
#include "support/hand_machine.h"

namespace polypath::test::driver_test {
namespace {

using nlohmann::json;

json quantity(const json& value, const char* unit) {
  return {{"value", value}, {"unit", unit}, {"source", "expanded"}};
}

// The file of a machine, but for this of the driver.
std::string file_with(const json& driver) {
  json file = json::parse(machine_to_json(load_machine("beluga")));
  file["driver"] = driver;
  return file.dump();
}

// No field has its default.
DriverBehaviour unusual() {
  DriverBehaviour driver;
  for (const DriverField& field : driver_fields()) {
    const double value = field.value_in(driver);
    field.set(driver, field.accepts(value * 2) ? value * 2 : value / 2);
  }
  return driver;
}

TEST(DriverBehaviour, NobodyHasToSayAnythingOfIt) {
  json file = json::parse(machine_to_json(load_machine("beluga")));
  file.erase("driver");

  const Machine machine = parse_machine(file.dump(), "mine.json");

  expect_equal(machine.driver, DriverBehaviour{});
}

TEST(DriverBehaviour, IsReadInItsUnits) {
  const json driver = {{"least_gain", quantity(7, "us")},
                       {"least_gain_driver_staged", quantity(0.25, "1")},
                       {"pageable_in_waits_from", quantity(64, "KiB")},
                       {"pageable_out", quantity(9, "GB/s")},
                       {"stream_entries", quantity(100, "1")},
                       {"note", "Others stay as they are."}};

  const Machine machine = parse_machine(file_with(driver), "mine.json");

  DriverBehaviour expected;
  expected.least_gain = 7_us;
  expected.least_gain_driver_staged = 0.25;
  expected.pageable_in_waits_from = 64_KiB;
  expected.pageable_out = 9_GBps;
  expected.stream_entries = 100;
  expect_equal(machine.driver, expected);
}

TEST(DriverBehaviour, IsWrittenAndReadAgain) {
  Machine machine = load_machine("beluga");
  machine.driver = unusual();

  const Machine again = parse_machine(machine_to_json(machine), "again");

  expect_equal(again.driver, machine.driver);
}

// But for what kernels take that exchange messages: two GPUs' are the default.
TEST(DriverBehaviour, OfTheMeasuredMachinesIsTheDefault) {
  DriverBehaviour of_four;
  of_four.mail_latency = 5.8_us, of_four.mail_efficiency = 0.9;
  of_four.parcel_efficiency = 0.86;

  expect_equal(load_machine("h200x8").driver, DriverBehaviour{});
  expect_equal(load_machine("h200x4").driver, of_four);
}

struct Slip {
  const char* field;
  json quantity;
  const char* complaint;
};

void PrintTo(const Slip& slip, std::ostream* out) {
  *out << slip.field << ' ' << slip.quantity.dump();
}

class DriverSlip : public testing::TestWithParam<Slip> {};

TEST_P(DriverSlip, IsRefusedByTheNameOfItsField) {
  const std::string file = file_with({{GetParam().field, GetParam().quantity}});

  expect_error(
      ErrorCode::invalid_machine, [&] { parse_machine(file, "mine.json"); },
      "mine.json: /driver/" + std::string(GetParam().field), GetParam().complaint);
}

INSTANTIATE_TEST_SUITE_P(
    Slips, DriverSlip,
    testing::Values(
        Slip{"windows", quantity(1, "1"), "is unknown"},
        Slip{"least_gain", quantity(2, "s"), "between 0 and 1 s"},
        Slip{"least_gain", quantity(-1, "us"), "between 0 and 1 s"},
        Slip{"least_gain", quantity(1, "MiB"), "the units of a time are s, ms, us, ns"},
        Slip{"least_gain", 5, "is of type number"},
        Slip{"least_gain_driver_staged", quantity(8, "1"), "a number from 0 to 1 belongs here"},
        Slip{"least_gain_driver_staged", quantity(8, "%"), "the units of a number are 1"},
        Slip{"driver_staged_steps_below", quantity(-1, "B"), "a whole number from 0"},
        Slip{"driver_staged_steps_below", quantity(0.5, "B"), "a whole number from 0"},
        Slip{"driver_staged_steps_below", quantity(1e9, "GiB"), "a whole number from 0"},
        Slip{"driver_staged_steps_below", quantity(8, "MB"),
             "the units of a size are B, KiB, MiB, GiB"},
        Slip{"pageable_in", quantity(7.9, "B/s"), "between 1 MB/s and 100 TB/s"},
        Slip{"windows_threads", quantity(0, "1"), "a whole number from 1 to 1024"},
        Slip{"windows_threads_least", quantity(2.5, "1"), "a whole number from 1 to 1024"},
        Slip{"stream_entries", quantity(3, "1"), "a whole number from 4"},
        Slip{"stream_entries", quantity("many", "1"), "is of type string"},
        Slip{"context_beside_allocations", quantity(0.5, "1"), "a number from 1 to 1000"}));

TEST(DriverBehaviour, IsCheckedOfMachinesThatWereBuiltInCode) {
  for (const DriverField& field : driver_fields()) {
    Machine machine = hand_machine();
    field.set(machine.driver, field.is<Bytes>() ? field.most * 2 : field.least - 1);

    expect_error(
        ErrorCode::invalid_machine, [&] { validate(machine); }, "machine 'hand'",
        "driver." + std::string(field.name));
  }
}

}  // namespace
}  // namespace polypath::test::driver_test
