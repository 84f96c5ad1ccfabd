#include "core/json_reader.json.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/text.h"

namespace polypath {
namespace {

using nlohmann::json;

constexpr int kMostLevels = 16;

// `what` is wrong: a place in the document, or nothing for all of it.
[[noreturn]] void fail_document(const JsonComplaint& complaint, const std::string& what,
                                const std::string& problem, const std::string& why) {
  const std::string where = what.empty() ? complaint.origin : complaint.origin + ": " + what;
  fail(complaint.code, where + " " + problem, why, complaint.remedy);
}

// Watches the parser go by: refuses deep nesting and a key that an object already has, which the
// parser itself would accept silently.
class Guard {
 public:
  explicit Guard(const JsonComplaint& complaint) : complaint_(complaint) {}

  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    if (depth > kMostLevels)
      fail_document(complaint_, {}, "is nested too deeply",
                    fmt::format("nothing here needs more than {} levels", kMostLevels));
    if (event == json::parse_event_t::object_start) keys_.emplace_back();
    if (event == json::parse_event_t::object_end) keys_.pop_back();
    if (event == json::parse_event_t::key && !keys_.back().insert(parsed).second)
      fail_document(complaint_,
                    fmt::format("the key '{}'", printable(parsed.get_ref<const std::string&>())),
                    "appears twice in one object", "only one of the two values would count");
    return true;
  }

 private:
  const JsonComplaint& complaint_;
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

json parsed(std::string_view text, const JsonComplaint& complaint, Bytes most) {
  if (text.size() > most.value)
    fail_document(complaint, {}, fmt::format("has {} bytes", text.size()),
                  fmt::format("at most {} are read", describe_bytes(most)));
  try {
    return json::parse(text, Guard(complaint));
  } catch (const json::parse_error& error) {
    if (std::string_view(error.what()).find("ill-formed UTF-8") != std::string_view::npos)
      fail_document(complaint, position_of(text, error.byte), "is not UTF-8",
                    "JSON is written in UTF-8, and Latin-1 is not");
    fail_document(complaint, position_of(text, error.byte), "is not JSON",
                  "the text ends early or has a character that does not belong there");
  } catch (const json::exception& error) {
    fail_document(complaint, {}, "cannot be read as JSON", printable(error.what()));
  }
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string shown;
  for (const char letter : text.substr(0, kMost))
    shown += letter >= ' ' && letter <= '~' ? letter : '?';
  return text.size() > kMost ? shown + "..." : shown;
}

JsonDocument::JsonDocument(std::string_view text, JsonComplaint complaint, Bytes most)
    : complaint_(std::move(complaint)), value_(parsed(text, complaint_, most)) {}

void JsonField::reject(const std::string& problem, const std::string& why) const {
  fail_document(complaint_, path_, problem, why);
}

JsonField JsonField::child(std::string_view key, const json& value) const {
  return {value, complaint_, fmt::format("{}/{}", path_, escape_pointer(key))};
}

void JsonField::demand(bool is_right, const char* what_belongs_here) const {
  if (!is_right)
    reject(fmt::format("is of type {}", value_.type_name()),
           fmt::format("{} belongs here", what_belongs_here));
}

void JsonField::demand_object() const { demand(value_.is_object(), "an object { ... }"); }

void JsonField::allow_only(std::span<const std::string_view> keys) const {
  demand_object();
  for (const auto& [key, value] : value_.items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    child(key, value)
        .reject("is unknown", fmt::format("the fields here are {}", fmt::join(keys, ", ")));
  }
}

bool JsonField::has(std::string_view key) const {
  demand_object();
  return value_.contains(key);
}

JsonField JsonField::at(std::string_view key) const {
  demand_object();
  const auto found = value_.find(key);
  if (found == value_.end()) reject(fmt::format("has no '{}'", key), "the field is required");
  return child(key, *found);
}

std::optional<JsonField> JsonField::find(std::string_view key) const {
  demand_object();
  const auto found = value_.find(key);
  if (found == value_.end() || found->is_null()) return std::nullopt;
  return child(key, *found);
}

std::vector<std::pair<std::string, JsonField>> JsonField::members() const {
  demand_object();
  std::vector<std::pair<std::string, JsonField>> found;
  for (const auto& [key, value] : value_.items()) found.emplace_back(key, child(key, value));
  return found;
}

std::vector<JsonField> JsonField::elements(std::size_t limit) const {
  demand(value_.is_array(), "an array [ ... ]");
  if (value_.size() > limit)
    reject(fmt::format("has {} elements", value_.size()), fmt::format("at most {} fit", limit));
  std::vector<JsonField> found;
  for (std::size_t i = 0; i < value_.size(); ++i)
    found.push_back(child(std::to_string(i), value_[i]));
  return found;
}

void JsonField::check_text(std::size_t limit, std::size_t least) const {
  demand(value_.is_string(), "a string");
  const auto& text = value_.get_ref<const std::string&>();
  if (text.size() < least) reject("is empty", "it has to say something");
  if (text.size() > limit)
    reject(fmt::format("has {} bytes", text.size()), fmt::format("at most {} fit", limit));
}

void JsonField::check_note(std::size_t limit) const {
  if (has("note")) at("note").check_text(limit);
}

std::string JsonField::text(std::size_t limit, std::size_t least) const {
  check_text(limit, least);
  return value_.get_ref<const std::string&>();
}

double JsonField::number() const {
  demand(value_.is_number(), "a number");
  return value_.get<double>();
}

int JsonField::integer(int least, int most) const {
  const double number = this->number();
  if (!value_.is_number_integer() || number < least || number > most)
    reject(fmt::format("is {}", number),
           fmt::format("a whole number from {} to {} belongs here", least, most));
  return value_.get<int>();
}

std::uint64_t JsonField::count(std::uint64_t least, std::uint64_t most) const {
  const double number = this->number();
  const bool is_whole = value_.is_number_unsigned();
  if (is_whole && value_.get<std::uint64_t>() >= least && value_.get<std::uint64_t>() <= most)
    return value_.get<std::uint64_t>();
  const bool bounded = most < std::numeric_limits<std::uint64_t>::max();
  const std::string range =
      bounded ? fmt::format("from {} to {}", least, most) : fmt::format("of at least {}", least);
  reject(fmt::format("is {}", number), fmt::format("a whole number {} belongs here", range));
}

bool JsonField::flag() const {
  demand(value_.is_boolean(), "true or false");
  return value_.get<bool>();
}

std::map<std::string, double> JsonField::numbers() const {
  std::map<std::string, double> found;
  for (const auto& [key, member] : members()) found[key] = member.number();
  return found;
}

std::map<std::string, int> JsonField::integers(int least, int most) const {
  std::map<std::string, int> found;
  for (const auto& [key, member] : members()) found[key] = member.integer(least, most);
  return found;
}

}  // namespace polypath
