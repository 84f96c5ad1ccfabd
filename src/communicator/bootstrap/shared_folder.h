#pragma once
// Small files that processes leave for one another in a folder, whole or not at all.

#include <optional>
#include <string>

namespace polypath::communicator {

/// Makes the folder if there is none: true then. Error (invalid_argument) if there can be none.
bool make_folder(const std::string& path);

/// Writes the file under another name and gives it its own when it is complete. Error
/// (communicator).
void leave_file(const std::string& path, const std::string& contents);

/// All of a file; none if it is not there.
std::optional<std::string> read_left_file(const std::string& path);

/// Removes the files in a folder, and the folder. Files that cannot be removed stay.
void remove_folder(const std::string& path) noexcept;

}  // namespace polypath::communicator
