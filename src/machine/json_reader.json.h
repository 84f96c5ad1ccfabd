#pragma once
// A JSON value together with where it stands, so that every complaint can point at it.
// Only *.json.cc files include this: nlohmann-json stays out of everything else.

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace polypath {

/// Text of a stranger's file made fit for a message: printable ASCII, at most 60 characters.
std::string printable(std::string_view text);

/// Reads `text` without trusting it: at most 4 MiB, 16 levels, no key twice in one object.
nlohmann::json parse_untrusted(std::string_view text, std::string_view origin);

/// One value of a document and its JSON pointer. The document must outlive it. Everything that is
/// not as demanded throws Error (invalid_machine).
class Field {
 public:
  Field(const nlohmann::json& value, std::string_view origin, std::string path = {})
      : value_(value), origin_(origin), path_(std::move(path)) {}

  /// Throws "ORIGIN: PATH problem (why) Correct it; ...".
  [[noreturn]] void reject(const std::string& problem, const std::string& why) const;

  /// Demands an object without other keys than these.
  void allow_only(std::span<const std::string_view> keys) const;
  void allow_only(std::initializer_list<std::string_view> keys) const {
    allow_only(std::span(keys.begin(), keys.size()));
  }
  [[nodiscard]] bool has(std::string_view key) const;
  /// The member called `key`; it must be there.
  [[nodiscard]] Field at(std::string_view key) const;
  /// The members of an object, by key.
  [[nodiscard]] std::vector<std::pair<std::string, Field>> members() const;
  /// The elements of an array of at most `limit`.
  [[nodiscard]] std::vector<Field> elements(std::size_t limit) const;

  /// A string of 1 to `limit` bytes.
  [[nodiscard]] std::string text(std::size_t limit) const;
  /// Demands a string of 1 to `limit` bytes.
  void check_text(std::size_t limit) const;
  /// Demands that the member "note", if there is one, is such a string.
  void check_note(std::size_t limit) const;
  [[nodiscard]] double number() const;
  [[nodiscard]] int integer(int least, int most) const;
  [[nodiscard]] bool flag() const;
  [[nodiscard]] bool is_text() const { return value_.is_string(); }

 private:
  void demand_object() const;
  [[nodiscard]] Field child(std::string_view key, const nlohmann::json& value) const;

  const nlohmann::json& value_;
  std::string_view origin_;
  std::string path_;
};

}  // namespace polypath
