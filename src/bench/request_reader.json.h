#pragma once
// Reads the fields of a request and complains about the others.

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/units.h"
#include "plan/options.h"

namespace polypath::bench {

/// The fields of one JSON object. Errors (invalid_argument) name the field.
class RequestReader {
 public:
  explicit RequestReader(const std::string& text);

  [[nodiscard]] bool has(const std::string& field);
  std::string text(const std::string& field);
  std::string text(const std::string& field, const std::string& otherwise);
  std::uint64_t number(const std::string& field, std::uint64_t otherwise);
  Bytes bytes(const std::string& field);
  std::vector<Bytes> sizes(const std::string& field);
  bool flag(const std::string& field, bool otherwise);
  std::vector<std::string> names(const std::string& field);
  std::vector<std::vector<std::string>> pairs(const std::string& field);
  /// The fields executor, paths, shares and chunks.
  PlanOptions options();
  /// Complains about fields that nobody has asked for.
  void finish() const;

 private:
  [[nodiscard]] const nlohmann::json* find(const std::string& field);
  template <class Value>
  Value value(const std::string& field, const char* kind);

  nlohmann::json json_;
  std::set<std::string> known_;
};

}  // namespace polypath::bench
