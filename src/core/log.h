#pragma once
// The library's log on stderr, as POLYPATH_LOG asks.

#include <string>

#include "core/layers.h"

namespace polypath {

enum class LogLevel { error, warning, info, debug };

/// From here on shows messages of `level` ("off", "error", "warning", "info", "debug") and graver
/// ones; for the whole process, as the latest engine's settings say. Nothing is shown before the
/// first call but errors and warnings.
void set_log_level(const std::string& level);

/// True if a message of this level would be shown: spares making it.
bool logs(LogLevel level);

/// Writes one line. Never throws.
void log(LogLevel level, const std::string& message) noexcept;

}  // namespace polypath
