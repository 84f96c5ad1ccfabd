#pragma once
// What the programs are told behind their scenario.

#include <map>
#include <string>

#include "cuda.h"

namespace program {

/// Words NAME=VALUE behind the scenario; a value is a number, or one with K, M or G.
class Options {
 public:
  void read(const std::string& word) {
    const auto equals = word.find('=');
    EXPECT(equals != std::string::npos);
    values_[word.substr(0, equals)] = word.substr(equals + 1);
  }
  [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
  }
  [[nodiscard]] std::size_t number(const std::string& name, std::size_t otherwise) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return otherwise;
    char* end = nullptr;
    const std::size_t value = std::strtoull(found->second.c_str(), &end, 10);
    const std::string unit = end;
    EXPECT(unit.empty() || unit == "K" || unit == "M" || unit == "G");
    return value << (unit == "G" ? 30 : unit == "M" ? 20 : unit == "K" ? 10 : 0);
  }

 private:
  std::map<std::string, std::string> values_;
};

inline Options& options() {
  static Options all;
  return all;
}

}  // namespace program
