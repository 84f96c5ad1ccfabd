#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text.h"

namespace polypath {

std::string valid_text(std::string_view text) {
  using nlohmann::json;
  const std::string dumped = json(text).dump(-1, ' ', false, json::error_handler_t::replace);
  auto valid = json::parse(dumped).get<std::string>();
  const auto is_control = [](char letter) {
    return (static_cast<unsigned char>(letter) < ' ' && letter != '\n') || letter == '\x7f';
  };
  std::replace_if(valid.begin(), valid.end(), is_control, '?');
  return valid;
}

}  // namespace polypath
