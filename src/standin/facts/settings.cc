#include "standin/facts/settings.h"

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

}  // namespace

Settings read_settings() {
  Settings settings;
  settings.machine = text("STANDIN_MACHINE", settings.machine);
  settings.memory =
      parse_bytes(text("STANDIN_MEMORY", format_bytes(settings.memory)), "STANDIN_MEMORY");
  settings.strict = flag("STANDIN_STRICT");
  settings.statistics = flag("STANDIN_STATISTICS");
  settings.log = flag("STANDIN_LOG");
  settings.visible = text("CUDA_VISIBLE_DEVICES", settings.visible);
  return settings;
}

}  // namespace polypath::standin
