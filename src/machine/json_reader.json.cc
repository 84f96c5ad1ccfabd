#include "machine/json_reader.json.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"

namespace polypath {
namespace {

using nlohmann::json;

constexpr std::size_t kMostBytes = std::size_t{4} << 20;
constexpr int kMostLevels = 16;
constexpr const char* kRemedy = "Correct it; docs/machines.md describes the format.";

[[noreturn]] void fail_document(std::string_view origin, const std::string& problem,
                                const std::string& why) {
  fail(ErrorCode::invalid_machine, fmt::format("{}: {}", origin, problem), why, kRemedy);
}

// Watches the parser go by: refuses deep nesting and a key that an object already has, which the
// parser itself would accept silently.
class Guard {
 public:
  explicit Guard(std::string_view origin) : origin_(origin) {}

  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    if (depth > kMostLevels)
      fail_document(origin_, "the file is nested too deeply",
                    fmt::format("a machine needs no more than {} levels", kMostLevels));
    if (event == json::parse_event_t::object_start) keys_.emplace_back();
    if (event == json::parse_event_t::object_end) keys_.pop_back();
    if (event == json::parse_event_t::key && !keys_.back().insert(parsed).second)
      fail_document(origin_,
                    fmt::format("the key '{}' appears twice in one object",
                                printable(parsed.get_ref<const std::string&>())),
                    "only one of the two values would count");
    return true;
  }

 private:
  std::string_view origin_;
  std::vector<std::set<std::string>> keys_;
};

std::string position_of(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const auto last = before.rfind('\n');
  const auto column = before.size() - (last == std::string_view::npos ? 0 : last + 1) + 1;
  return fmt::format("line {}, column {}", line, column);
}

std::string escape_pointer(std::string_view key) {
  std::string escaped;
  for (const char letter : printable(key)) {
    if (letter == '~') escaped += "~0";
    else if (letter == '/') escaped += "~1";
    else escaped += letter;
  }
  return escaped;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string shown;
  for (const char letter : text.substr(0, kMost))
    shown += letter >= ' ' && letter <= '~' ? letter : '?';
  return text.size() > kMost ? shown + "..." : shown;
}

json parse_untrusted(std::string_view text, std::string_view origin) {
  if (text.size() > kMostBytes)
    fail_document(origin, fmt::format("the file has {} bytes", text.size()),
                  "a machine file has at most 4 MiB");
  try {
    return json::parse(text, Guard(origin));
  } catch (const json::parse_error& error) {
    fail_document(origin, fmt::format("{} is not JSON", position_of(text, error.byte)),
                  "the text ends early or has a character that does not belong there");
  } catch (const json::exception& error) {
    fail_document(origin, "the file cannot be read as JSON", printable(error.what()));
  }
}

void Field::reject(const std::string& problem, const std::string& why) const {
  fail_document(origin_, fmt::format("{} {}", path_.empty() ? "the file" : path_, problem), why);
}

Field Field::child(std::string_view key, const json& value) const {
  return {value, origin_, fmt::format("{}/{}", path_, escape_pointer(key))};
}

void Field::demand_object() const {
  if (!value_.is_object())
    reject(fmt::format("is of type {}", value_.type_name()), "an object { ... } belongs here");
}

void Field::allow_only(std::span<const std::string_view> keys) const {
  demand_object();
  for (const auto& [key, value] : value_.items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    child(key, value)
        .reject("is unknown", fmt::format("the fields here are {}", fmt::join(keys, ", ")));
  }
}

bool Field::has(std::string_view key) const {
  demand_object();
  return value_.contains(key);
}

Field Field::at(std::string_view key) const {
  demand_object();
  const auto found = value_.find(key);
  if (found == value_.end()) reject(fmt::format("has no '{}'", key), "the field is required");
  return child(key, *found);
}

std::vector<std::pair<std::string, Field>> Field::members() const {
  demand_object();
  std::vector<std::pair<std::string, Field>> found;
  for (const auto& [key, value] : value_.items()) found.emplace_back(key, child(key, value));
  return found;
}

std::vector<Field> Field::elements(std::size_t limit) const {
  if (!value_.is_array())
    reject(fmt::format("is of type {}", value_.type_name()), "an array [ ... ] belongs here");
  if (value_.size() > limit)
    reject(fmt::format("has {} elements", value_.size()), fmt::format("at most {} fit", limit));
  std::vector<Field> found;
  for (std::size_t i = 0; i < value_.size(); ++i)
    found.push_back(child(std::to_string(i), value_[i]));
  return found;
}

void Field::check_text(std::size_t limit) const {
  if (!value_.is_string())
    reject(fmt::format("is of type {}", value_.type_name()), "a string belongs here");
  const auto& text = value_.get_ref<const std::string&>();
  if (text.empty()) reject("is empty", "it has to say something");
  if (text.size() > limit)
    reject(fmt::format("has {} bytes", text.size()), fmt::format("at most {} fit", limit));
}

void Field::check_note(std::size_t limit) const {
  if (has("note")) at("note").check_text(limit);
}

std::string Field::text(std::size_t limit) const {
  check_text(limit);
  return value_.get_ref<const std::string&>();
}

double Field::number() const {
  if (!value_.is_number())
    reject(fmt::format("is of type {}", value_.type_name()), "a number belongs here");
  return value_.get<double>();
}

int Field::integer(int least, int most) const {
  const double number = this->number();
  if (!value_.is_number_integer() || number < least || number > most)
    reject(fmt::format("is {}", number),
           fmt::format("a whole number from {} to {} belongs here", least, most));
  return value_.get<int>();
}

bool Field::flag() const {
  if (!value_.is_boolean())
    reject(fmt::format("is of type {}", value_.type_name()), "true or false belongs here");
  return value_.get<bool>();
}

}  // namespace polypath
