#include "core/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace polypath {
namespace {

// Never destroyed, because engines may log while the process exits.
spdlog::logger& logger() {
  static auto* made = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
    auto* created = new spdlog::logger("polypath", std::move(sink));
    created->set_pattern("polypath: %l: %v");
    created->set_level(spdlog::level::warn);
    return created;
  }();
  return *made;
}

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::error: return spdlog::level::err;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::debug: return spdlog::level::debug;
  }
  return spdlog::level::err;
}

}  // namespace

void set_log_level(const std::string& level) { logger().set_level(spdlog::level::from_str(level)); }

bool logs(LogLevel level) { return logger().should_log(level_of(level)); }

void log(LogLevel level, const std::string& message) noexcept {
  try {
    logger().log(level_of(level), message);
  } catch (...) {
    // A message that cannot be written is not worth failing a copy for.
  }
}

}  // namespace polypath
