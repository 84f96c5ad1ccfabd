#include <algorithm>

#include "core/json_text.json.h"
#include "core/text.h"

namespace polypath {

std::string valid_text(std::string_view text) {
  auto valid = nlohmann::json::parse(json_text(text)).get<std::string>();
  const auto is_control = [](char letter) {
    return (static_cast<unsigned char>(letter) < ' ' && letter != '\n') || letter == '\x7f';
  };
  std::replace_if(valid.begin(), valid.end(), is_control, '?');
  return valid;
}

}  // namespace polypath
