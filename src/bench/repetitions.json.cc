#include "bench/repetitions.json.h"

#include <nlohmann/json.hpp>

namespace polypath::bench {
namespace {

using Json = nlohmann::ordered_json;

Json spread_object(std::vector<double> values) {
  const Spread spread = spread_of(std::move(values));
  return {{"minimum", spread.minimum},
          {"lower_quartile", spread.lower},
          {"median", spread.median},
          {"upper_quartile", spread.upper},
          {"maximum", spread.maximum}};
}

}  // namespace

void add_repetitions(Json& result, const Repetitions& repetitions) {
  if (repetitions.times.empty()) return;
  const std::vector<double> times = in_seconds(repetitions.times);
  const std::vector<double> native_times = in_seconds(repetitions.native_times);
  const bool all = times.size() <= kMostKept;
  result["samples"] = {
      {"runs", times.size()}, {"kept", all ? "all" : "percentiles"}, {"seconds", kept_of(times)}};
  result["spread"] = {{"seconds", spread_object(times)}};
  if (native_times.empty()) return;
  result["samples"]["native_seconds"] = kept_of(native_times);
  result["spread"]["native_seconds"] = spread_object(native_times);
  result["spread"]["speedup"] = spread_object(repetitions.speedups());
}

}  // namespace polypath::bench
