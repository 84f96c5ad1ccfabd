#pragma once
// Files of the program's own.

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "cuda.h"

namespace program {

namespace fs = std::filesystem;

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

inline std::string text_of(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

// A folder of the program's own that has files of the names that another folder has.
struct OwnFolder {
  std::string path;
  std::set<std::string> names;
};

inline OwnFolder own_folder(const std::set<std::string>& also) {
  std::string name = (fs::temp_directory_path() / "program_XXXXXX").string();
  EXPECT(mkdtemp(name.data()) != nullptr);
  OwnFolder made{name, also};
  made.names.insert("own");
  for (const std::string& file : made.names) write_text(name + "/" + file, "own text");
  return made;
}

inline bool untouched(const OwnFolder& folder) {
  bool as_it_was = names_in(folder.path) == folder.names;
  for (const std::string& name : folder.names)
    as_it_was = as_it_was && text_of(folder.path + "/" + name) == "own text";
  return as_it_was;
}

}  // namespace program
