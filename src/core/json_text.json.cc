#include "core/json_text.json.h"

#include <algorithm>

#include "core/text.h"

namespace polypath {

std::string json_text(const nlohmann::ordered_json& document, int indent) {
  return document.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string valid_text(std::string_view text) {
  auto valid = nlohmann::ordered_json::parse(json_text(text)).get<std::string>();
  const auto is_control = [](char letter) {
    return (static_cast<unsigned char>(letter) < ' ' && letter != '\n') || letter == '\x7f';
  };
  std::replace_if(valid.begin(), valid.end(), is_control, '?');
  return valid;
}

}  // namespace polypath
