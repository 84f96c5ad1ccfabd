#include "preload/program_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>

extern "C" char** environ;

namespace polypath::preload {
namespace {

namespace fs = std::filesystem;

// A file for what a program writes, gone when it has been read.
class Written {
 public:
  Written() {
    std::string name = (fs::temp_directory_path() / "polypath_program_XXXXXX").string();
    const int file = mkstemp(name.data());
    if (file < 0) throw std::runtime_error("no temporary file");
    close(file);
    path_ = name;
  }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  ~Written() { fs::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string text() const {
    std::ifstream stream(path_);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

 private:
  std::string path_;
};

std::vector<std::string> environment_with(Variables variables) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    const bool ours = name.starts_with("POLYPATH_") || name.starts_with("STANDIN_");
    if (!ours && !variables.contains(name)) all.push_back(text);
  }
  for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> made;
  for (std::string& text : texts) made.push_back(text.data());
  made.push_back(nullptr);
  return made;
}

ProgramRun run(std::vector<std::string> command, const Variables& variables) {
  command.front() = fmt::format("{}/preload_{}", POLYPATH_PROGRAMS, command.front());
  std::vector<std::string> environment = environment_with(variables);
  const Written output, errors;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, output.path().c_str(), O_WRONLY | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&files, 2, errors.path().c_str(), O_WRONLY | O_APPEND, 0600);
  pid_t child = 0;
  const int problem = posix_spawn(&child, command.front().c_str(), &files, nullptr,
                                  pointers(command).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&files);
  if (problem != 0) throw std::runtime_error(command.front() + " cannot be started");
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), output.text(),
          errors.text()};
}

Variables usual() {
  return {{"LD_LIBRARY_PATH", standin_folder()},
          {"STANDIN_STRICT", "1"},
          // No calibration of whoever runs the tests.
          {"XDG_CACHE_HOME", "/nowhere"}};
}

}  // namespace

std::uint64_t ProgramRun::calls(const std::string& text) const {
  std::uint64_t sum = 0;
  const std::regex row("polypath: +([0-9]+) +[0-9.]+ [KMGT]?i?B +([^\n]*)");
  for (std::sregex_iterator at(errors.begin(), errors.end(), row), end; at != end; ++at)
    if ((*at)[2].str().starts_with(text)) sum += std::stoull((*at)[1].str());
  return sum;
}

ProgramRun run_program(const std::vector<std::string>& command, const Variables& more) {
  Variables variables = more;
  variables.merge(Variables{{"LD_PRELOAD", preload_path()}, {"POLYPATH_STATS", "1"}});
  variables.merge(usual());
  return run(command, variables);
}

ProgramRun run_plain(const std::vector<std::string>& command) { return run(command, usual()); }

std::string preload_path() { return POLYPATH_PRELOAD; }

std::string standin_folder() {
  const bool built = fs::exists(POLYPATH_STANDIN "/libcuda.so.1");
  return built ? POLYPATH_STANDIN : "";
}

}  // namespace polypath::preload
