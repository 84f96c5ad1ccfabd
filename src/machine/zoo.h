#pragma once
// The files of machines/ as text. The build writes the definition, see embed.cmake.

#include <span>
#include <string_view>

namespace polypath::machine {

struct ZooFile {
  std::string_view name;
  std::string_view json;
};

/// All zoo files, sorted by name.
std::span<const ZooFile> zoo_files();

}  // namespace polypath::machine
