// The driver section of a machine file. Fields that it leaves out keep their defaults.

#include <fmt/format.h>

#include <array>

#include "machine/driver_fields.h"
#include "machine/machine_reader.h"

namespace polypath {
namespace {

constexpr std::array kNumbers = {Unit{"1", 1}};

std::vector<std::string_view> names() {
  std::vector<std::string_view> all;
  for (const DriverField& field : driver_fields()) all.push_back(field.name);
  all.emplace_back("note");
  return all;
}

}  // namespace

void MachineReader::read_driver(const JsonField& field) {
  field.allow_only(names());
  field.check_note(kLongestSentence);
  for (const DriverField& known : driver_fields())
    if (field.has(known.name))
      known.set(machine_.driver, driver_value(field.at(known.name), known));
}

double MachineReader::driver_value(const JsonField& field, const DriverField& known) {
  if (known.is<Seconds>()) return duration(field).value;
  if (known.is<BytesPerSecond>()) return rate(field).value;
  const bool size = known.is<Bytes>();
  const double value =
      size ? quantity(field, "size", kSizes, false) : quantity(field, "number", kNumbers, false);
  if (!known.accepts(value))
    field.at("value").reject(
        fmt::format("is {}{}", value, size ? " B" : ""),
        fmt::format("a {} from {} to {} belongs here",
                    known.is<double>() ? "number" : "whole number", known.least, known.most));
  return value;
}

}  // namespace polypath
