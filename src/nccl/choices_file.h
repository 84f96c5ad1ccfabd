#pragma once
// Choices as a document: ranks give it to each other, and the next program reads it.

#include <optional>
#include <string>

#include "nccl/choices.h"

namespace polypath::nccl {

/// Schema polypath.nccl-choices/2. `circumstances` describe the measurement for people.
std::string choices_to_json(const Choices& choices, const std::string& circumstances = {});
/// Error (communicator) for any other text.
Choices parse_choices(const std::string& text, const std::string& origin);

/// A file in the user's cache folder, named by all that the measurement depends on.
class ChoicesFile {
 public:
  explicit ChoicesFile(const std::string& circumstances);

  /// Nothing if there is none, or it cannot be used.
  [[nodiscard]] std::optional<Choices> read() const noexcept;
  void write(const Choices& choices) const noexcept;

 private:
  std::string circumstances_;
  std::string path_;  ///< empty: there is no such folder
};

}  // namespace polypath::nccl
