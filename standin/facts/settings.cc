#include "standin/facts/settings.h"

#include <charconv>
#include <cstdlib>

#include "core/error.h"
#include "core/text.h"

namespace polypath::standin {
namespace {

std::string text(const char* variable, const std::string& otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr ? otherwise : value;
}

bool flag(const char* variable) {
  const std::string value = text(variable, "0");
  if (value == "0" || value == "1") return value == "1";
  fail(ErrorCode::invalid_argument, std::string(variable) + "='" + value + "' cannot be used",
       "it must be 0 or 1");
}

bool exclusive(const char* variable) {
  const std::string value = text(variable, "default");
  if (value == "default" || value == "exclusive") return value == "exclusive";
  fail(ErrorCode::invalid_argument, std::string(variable) + "='" + value + "' cannot be used",
       "it must be default or exclusive");
}

std::uint64_t number(const char* variable, const std::string& value) {
  std::uint64_t read = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), read);
  if (error == std::errc{} && end == value.data() + value.size()) return read;
  fail(ErrorCode::invalid_argument, std::string(variable) + "='" + value + "' cannot be used",
       "it must be a number");
}

int positive(const char* variable, int otherwise) {
  constexpr std::uint64_t kMost = 1'000'000;
  const std::uint64_t read = number(variable, text(variable, std::to_string(otherwise)));
  if (read > 0 && read <= kMost) return static_cast<int>(read);
  fail(ErrorCode::invalid_argument,
       std::string(variable) + "='" + std::to_string(read) + "' cannot be used",
       "it must be between 1 and a million");
}

std::optional<std::uint64_t> seed(const char* variable) {
  const std::string value = text(variable, "");
  if (value.empty()) return std::nullopt;
  return number(variable, value);
}

}  // namespace

StandInSettings read_settings() {
  StandInSettings settings;
  settings.machine = text("STANDIN_MACHINE", settings.machine);
  settings.memory =
      parse_bytes(text("STANDIN_MEMORY", format_bytes(settings.memory)), "STANDIN_MEMORY");
  settings.context_memory =
      parse_bytes(text("STANDIN_CONTEXT_MEMORY", "0"), "STANDIN_CONTEXT_MEMORY");
  settings.exclusive = exclusive("STANDIN_COMPUTE_MODE");
  settings.failures = parse_failures(text("STANDIN_FAIL", ""));
  settings.strict = flag("STANDIN_STRICT");
  settings.statistics = flag("STANDIN_STATISTICS");
  settings.log = flag("STANDIN_LOG");
  settings.fabric = flag("STANDIN_FABRIC");
  settings.journal = text("STANDIN_JOURNAL", settings.journal);
  settings.drops_peer_bytes = flag("STANDIN_DROP_PEER_BYTES");
  settings.chaos = seed("STANDIN_CHAOS");
  settings.queue_depth = positive("STANDIN_QUEUE_DEPTH", settings.queue_depth);
  settings.queues = positive("STANDIN_QUEUES", settings.queues);
  settings.visible = text("CUDA_VISIBLE_DEVICES", settings.visible);
  return settings;
}

}  // namespace polypath::standin
