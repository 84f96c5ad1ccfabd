// The driver section of a machine file. Fields that it leaves out keep their defaults.

#include <fmt/format.h>

#include <array>

#include "machine/driver_fields.h"
#include "machine/machine_reader.h"

namespace polypath::machine {
namespace {

constexpr std::array kNumbers = {Unit{"1", 1}};

std::vector<std::string_view> names() {
  std::vector<std::string_view> all;
  for (const DriverField& field : driver_fields()) all.push_back(field.name);
  all.emplace_back("note");
  return all;
}

double value_of(const JsonField& field, const DriverField& known, QuantityReader& quantities) {
  if (known.is<Seconds>()) return quantities.duration(field).value;
  if (known.is<BytesPerSecond>()) return quantities.rate(field).value;
  const bool size = known.is<Bytes>();
  const double value =
      size ? quantities.read(field, "size", kSizes) : quantities.read(field, "number", kNumbers);
  if (!known.accepts(value))
    field.at("value").reject(
        fmt::format("is {}{}", value, size ? " B" : ""),
        fmt::format("a {} from {} to {} belongs here",
                    known.is<double>() ? "number" : "whole number", known.least, known.most));
  return value;
}

}  // namespace

void read_driver(const JsonField& field, QuantityReader& quantities, DriverBehaviour& driver) {
  field.allow_only(names());
  field.check_note(kLongestSentence);
  for (const DriverField& known : driver_fields())
    if (field.has(known.name)) known.set(driver, value_of(field.at(known.name), known, quantities));
}

}  // namespace polypath::machine
