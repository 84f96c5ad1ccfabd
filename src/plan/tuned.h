#pragma once
// Shares and chunk counts found by an exhaustive search (`polypath tune`), kept in a file and used
// instead of the model's where a setting asks for it.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/predict.h"

namespace polypath::plan {

/// The best split found for one pair, size and executor.
struct TunedEntry {
  std::string source;
  std::string destination;
  Bytes bytes;
  Executor executor = Executor::stream;
  std::map<std::string, double> shares;
  std::map<std::string, int> chunks;
  double speedup = 0;            ///< over the native copy, in the search
  double automatic_speedup = 0;  ///< the automatic plan's; 0 if the search did not say
  int tried = 0;                 ///< candidates that it ran
};

/// The results of one search on one machine; schema polypath.tuned/1.
struct TunedTable {
  std::string machine;
  std::vector<TunedEntry> entries;

  /// The entry of the pair and executor whose size is nearest by ratio, at most a factor 2 away.
  [[nodiscard]] const TunedEntry* find(const std::string& source, const std::string& destination,
                                       Bytes bytes, Executor executor) const;
};

/// Reads a file that tuned_to_json wrote; errors (invalid_setting) name the file and the field.
TunedTable read_tuned(const std::string& path);
TunedTable parse_tuned(const std::string& json, const std::string& origin);
std::string tuned_to_json(const TunedTable& table);

}  // namespace polypath::plan
