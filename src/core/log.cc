#include "core/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <mutex>

#include "core/standard_error.h"

namespace polypath {
namespace {

class StderrSink : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    write_to_stderr({line.data(), line.size()});
  }
  void flush_() override {}
};

// Never destroyed, because engines may log while the process exits.
spdlog::logger& logger() {
  static auto* made = [] {
    auto sink = std::make_shared<StderrSink>();
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
