// Quantities of a machine file, such as {"value": 393, "unit": "GB/s", "source": "nvlink"}.

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "machine/machine_reader.h"

namespace polypath::machine {
namespace {

// 1 MB/s to 100 TB/s: a number outside is a slip of the unit.
constexpr double kSlowest = 1e6;
constexpr double kFastest = 1e14;

constexpr std::array kTimes = {Unit{"s", 1}, Unit{"ms", 1e-3}, Unit{"us", 1e-6}, Unit{"ns", 1e-9}};
constexpr std::array kRates = {Unit{"B/s", 1}, Unit{"MB/s", 1e6}, Unit{"GB/s", 1e9},
                               Unit{"GiB/s", 1073741824.0}};
constexpr double kLargest = 1099511627776.0;

// With the file's own unit, in which its author looks for the mistake.
std::string as_written(const JsonField& field) {
  return fmt::format("is {} {}", field.at("value").number(), field.at("unit").text(kLongestName));
}

}  // namespace

double QuantityReader::read(const JsonField& field, const char* what, std::span<const Unit> units,
                            bool nominally) {
  field.allow_only({"value", "unit", "source", "nominal", "note"});
  field.check_note(kLongestSentence);
  const std::string source = field.at("source").text(kLongestName);
  if (!sources_.contains(source))
    field.at("source").reject(fmt::format("is '{}'", printable(source)),
                              "it must be one of the keys of /sources");
  const std::string wanted = field.at("unit").text(kLongestName);
  const double value = field.at("value").number();
  const double nominal = field.has("nominal") ? field.at("nominal").number() : value;
  const double chosen = nominal_ || nominally ? nominal : value;
  if (field.has("nominal")) has_nominal_ = true;
  std::vector<std::string_view> names;
  for (const Unit& unit : units) {
    if (unit.name == wanted) return chosen * unit.factor;
    names.push_back(unit.name);
  }
  field.at("unit").reject(fmt::format("is '{}'", printable(wanted)),
                          fmt::format("the units of a {} are {}", what, fmt::join(names, ", ")));
}

Seconds QuantityReader::duration(const JsonField& field, bool nominal) {
  const double seconds = read(field, "time", kTimes, nominal);
  if (!(seconds >= 0 && seconds <= 1))
    field.at("value").reject(as_written(field), "a time lies between 0 and 1 s");
  return {seconds};
}

BytesPerSecond QuantityReader::rate(const JsonField& field) {
  const double rate = read(field, "bandwidth", kRates);
  if (!(rate >= kSlowest && rate <= kFastest))
    field.at("value").reject(as_written(field), "a bandwidth lies between 1 MB/s and 100 TB/s");
  return {rate};
}

Bytes QuantityReader::size(const JsonField& field) {
  const double bytes = read(field, "size", kSizes);
  if (!(bytes >= 0 && bytes <= kLargest && bytes == std::floor(bytes)))
    field.at("value").reject(as_written(field),
                             "a size is a whole number of bytes from 0 to 1 TiB");
  return {static_cast<std::uint64_t>(bytes)};
}

}  // namespace polypath::machine
