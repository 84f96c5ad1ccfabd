#pragma once
// JSON that others have written: each value together with where it stands, so that every complaint
// can point at it. Complaints read "ORIGIN: /path/of/the/field problem (why it is one) what to do",
// and of all of it "ORIGIN problem (why it is one) what to do".
// Only *.json.cc files include this: nlohmann-json stays out of everything else.

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/units.h"

namespace polypath {

/// Text of a stranger's document made fit for a message: printable ASCII, at most 60 characters.
std::string printable(std::string_view text);

/// The error about a document that cannot be used.
struct JsonComplaint {
  std::string origin;  ///< what the document is called: "mine.json", "the request"
  ErrorCode code = ErrorCode::invalid_argument;
  std::string remedy;  ///< what to do, as a sentence
};

/// One value of a document and its JSON pointer. The document must outlive it. Everything that is
/// not as demanded throws Error with the document's code.
class JsonField {
 public:
  JsonField(const nlohmann::json& value, const JsonComplaint& complaint, std::string path = {})
      : value_(value), complaint_(complaint), path_(std::move(path)) {}

  /// Throws "ORIGIN: PATH problem (why) remedy".
  [[noreturn]] void reject(const std::string& problem, const std::string& why) const;

  /// Demands an object without other keys than these.
  void allow_only(std::span<const std::string_view> keys) const;
  void allow_only(std::initializer_list<std::string_view> keys) const {
    allow_only(std::span(keys.begin(), keys.size()));
  }
  [[nodiscard]] bool has(std::string_view key) const;
  /// The member called `key`; it must be there.
  [[nodiscard]] JsonField at(std::string_view key) const;
  /// The member called `key`; nothing if it is absent or null.
  [[nodiscard]] std::optional<JsonField> find(std::string_view key) const;
  /// The members of an object, by key.
  [[nodiscard]] std::vector<std::pair<std::string, JsonField>> members() const;
  /// The elements of an array of at most `limit`.
  [[nodiscard]] std::vector<JsonField> elements(std::size_t limit) const;

  /// A string of `least` to `limit` bytes.
  [[nodiscard]] std::string text(std::size_t limit, std::size_t least = 1) const;
  /// Demands such a string.
  void check_text(std::size_t limit, std::size_t least = 1) const;
  /// Demands that the member "note", if there is one, is a string of 1 to `limit` bytes.
  void check_note(std::size_t limit) const;
  [[nodiscard]] double number() const;
  /// A whole number of this range.
  [[nodiscard]] int integer(int least, int most) const;
  /// The same up to 64 bits, such as a number of bytes.
  [[nodiscard]] std::uint64_t count(
      std::uint64_t least, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const;
  [[nodiscard]] bool flag() const;
  /// An object's numbers by key.
  [[nodiscard]] std::map<std::string, double> numbers() const;
  /// The same where all are whole numbers of this range.
  [[nodiscard]] std::map<std::string, int> integers(int least, int most) const;
  [[nodiscard]] bool is_text() const { return value_.is_string(); }

 private:
  void demand_object() const;
  void demand(bool is_right, const char* what_belongs_here) const;
  [[nodiscard]] JsonField child(std::string_view key, const nlohmann::json& value) const;

  const nlohmann::json& value_;
  const JsonComplaint& complaint_;
  std::string path_;
};

/// A document that is not trusted.
class JsonDocument {
 public:
  /// Reads `text`: at most `most` bytes, 16 levels, no key twice in one object.
  JsonDocument(std::string_view text, JsonComplaint complaint, Bytes most = 4_MiB);
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  /// The whole of it.
  [[nodiscard]] JsonField root() const { return {value_, complaint_}; }

 private:
  JsonComplaint complaint_;
  nlohmann::json value_;
};

}  // namespace polypath
