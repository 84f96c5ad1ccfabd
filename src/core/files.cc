#include "core/files.h"

#include <cstdio>
#include <filesystem>
#include <memory>

namespace polypath {

std::optional<std::string> read_file(const std::string& path, std::size_t most) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) return std::nullopt;
  std::string text(most, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  return text;
}

std::string why_unreadable(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code problem;
  const fs::file_status status = fs::status(path, problem);
  if (status.type() == fs::file_type::not_found) return "there is no such file";
  if (status.type() == fs::file_type::none) return problem.message();
  if (fs::is_directory(status)) return "it is a folder";
  return fs::is_regular_file(status) ? "" : "it is no plain file: a pipe or a device may never end";
}

}  // namespace polypath
