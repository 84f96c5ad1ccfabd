#pragma once
// Reading files. Through C streams: where a program links one C++ run-time library and a library in
// it carries another, formatted C++ streams of the two share locales, and crash.

#include <cstddef>
#include <optional>
#include <string>

#include "core/layers.h"

namespace polypath {

/// The first `most` bytes of a file; nothing if it cannot be opened. Files of /proc and /sys too.
std::optional<std::string> read_file(const std::string& path, std::size_t most);

/// Why a file cannot be read whole, in words: it is missing, a folder, a pipe. Empty for a plain
/// file, which this user may be allowed to read.
std::string why_unreadable(const std::string& path);

}  // namespace polypath
