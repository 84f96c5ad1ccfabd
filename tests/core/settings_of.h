#pragma once
// Settings of an environment that a test makes up.

#include <map>
#include <string>

#include "core/settings.h"
#include "support/layers.h"

namespace polypath::test {

using Variables = std::map<std::string, std::string>;

inline Settings read(const Variables& variables) {
  return read_settings([&](const std::string& variable) {
    const auto found = variables.find(variable);
    return found == variables.end() ? std::string() : found->second;
  });
}

}  // namespace polypath::test
