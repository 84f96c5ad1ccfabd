#pragma once
// JSON as text. Only *.json.cc files include this.

#include <nlohmann/json.hpp>
#include <string>

namespace polypath {

/// A document as text, in lines if `indent` is not negative. Names in it, of files and programs,
/// may have any bytes: bytes that are no UTF-8 are shown as U+FFFD.
std::string json_text(const nlohmann::ordered_json& document, int indent = -1);

}  // namespace polypath
