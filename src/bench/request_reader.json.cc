#include "bench/request_reader.json.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace polypath::bench {
namespace {

[[noreturn]] void fail_field(const std::string& field, const std::string& why) {
  fail(ErrorCode::invalid_argument, fmt::format("request field '{}' cannot be used", field), why,
       "docs/json.md lists the fields.");
}

}  // namespace

RequestReader::RequestReader(const std::string& text) {
  json_ = nlohmann::json::parse(text, nullptr, false);
  if (!json_.is_object())
    fail(ErrorCode::invalid_argument, "the request is no JSON object", "its fields are named",
         "docs/json.md lists the fields.");
}

const nlohmann::json* RequestReader::find(const std::string& field) {
  known_.insert(field);
  const auto found = json_.find(field);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

bool RequestReader::has(const std::string& field) { return find(field) != nullptr; }

template <class Value>
Value RequestReader::value(const std::string& field, const char* kind) {
  const nlohmann::json* found = find(field);
  if (found == nullptr) fail_field(field, "it is missing");
  try {
    return found->get<Value>();
  } catch (const nlohmann::json::exception&) {
    fail_field(field, fmt::format("it must be {}", kind));
  }
}

std::string RequestReader::text(const std::string& field) {
  return value<std::string>(field, "a text");
}

std::string RequestReader::text(const std::string& field, const std::string& otherwise) {
  return has(field) ? text(field) : otherwise;
}

std::uint64_t RequestReader::number(const std::string& field, std::uint64_t otherwise) {
  const nlohmann::json* found = find(field);
  if (found == nullptr) return otherwise;
  if (!found->is_number_unsigned()) fail_field(field, "it must be a whole number, not negative");
  return found->get<std::uint64_t>();
}

Bytes RequestReader::bytes(const std::string& field) {
  if (!has(field)) fail_field(field, "it is missing");
  return {number(field, 0)};
}

std::vector<Bytes> RequestReader::sizes(const std::string& field) {
  const nlohmann::json* found = find(field);
  if (found == nullptr || !found->is_array() || found->empty())
    fail_field(field, "it must be a list of sizes in bytes, not empty");
  std::vector<Bytes> sizes;
  for (const nlohmann::json& size : *found) {
    if (!size.is_number_unsigned()) fail_field(field, "a size is a whole number of bytes");
    sizes.push_back({size.get<std::uint64_t>()});
  }
  return sizes;
}

bool RequestReader::flag(const std::string& field, bool otherwise) {
  return has(field) ? value<bool>(field, "true or false") : otherwise;
}

std::vector<std::string> RequestReader::names(const std::string& field) {
  if (!has(field)) return {};
  return value<std::vector<std::string>>(field, "a list of names");
}

std::vector<std::vector<std::string>> RequestReader::pairs(const std::string& field) {
  if (!has(field)) return {};
  auto pairs = value<std::vector<std::vector<std::string>>>(field, "a list of pairs of names");
  for (const auto& pair : pairs)
    if (pair.size() != 2) fail_field(field, "each pair is a source and a destination");
  return pairs;
}

PlanOptions RequestReader::options() {
  PlanOptions options;
  options.executor = parse_executor(text("executor", "auto"));
  options.paths = names("paths");
  if (has("shares"))
    options.shares = value<std::map<std::string, double>>("shares", "an object of numbers");
  if (has("chunks"))
    options.chunks = value<std::map<std::string, int>>("chunks", "an object of whole numbers");
  return options;
}

void RequestReader::finish() const {
  for (const auto& [field, unused] : json_.items())
    if (!known_.contains(field))
      fail_field(field,
                 "there is no such field; known are " + join({known_.begin(), known_.end()}, ", "));
}

}  // namespace polypath::bench
