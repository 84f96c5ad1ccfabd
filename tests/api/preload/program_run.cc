#include "api/preload/program_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
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

constexpr int kMostMilliseconds = 90'000;

// In a process group of its own, so that what it starts can be ended with it.
pid_t start(std::vector<std::string> command, const Variables& variables, const Written& output,
            const Written& errors) {
  std::vector<std::string> environment = environment_with(variables);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, output.path().c_str(), O_WRONLY | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&files, 2, errors.path().c_str(), O_WRONLY | O_APPEND, 0600);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int problem = posix_spawn(&child, command.front().c_str(), &files, &attributes,
                                  pointers(command).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (problem != 0) throw std::runtime_error(command.front() + " cannot be started");
  return child;
}

bool ends_in_time(pid_t child) {
  const int file = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (file < 0) throw std::runtime_error("a program cannot be waited for");
  pollfd ended{file, POLLIN, 0};
  const bool in_time = poll(&ended, 1, kMostMilliseconds) > 0;
  close(file);
  return in_time;
}

int status_of(pid_t child) {
  const bool in_time = ends_in_time(child);
  if (!in_time) kill(-child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  if (!in_time) return kTookTooLong;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// In the sanitizer presets the programs are built with them too. Their exit status alone would not
// tell: a program may not look at that of its children.
bool holds_a_report(const std::string& errors) {
  static const std::regex report("(Address|Leak|Thread)Sanitizer|: runtime error: ");
  return std::regex_search(errors, report);
}

ProgramRun run(std::vector<std::string> command, const Variables& variables) {
  command.front() = fmt::format("{}/preload_{}", POLYPATH_PROGRAMS, command.front());
  const Written output, errors;
  const int status = status_of(start(std::move(command), variables, output, errors));
  const std::string text = errors.text();
  return {holds_a_report(text) ? kReported : status, output.text(), text};
}

// What programs of one run of tests share, for example whose an exclusive GPU is, is no business of
// another run beside it.
class OwnFolder {
 public:
  OwnFolder() { fs::create_directory(path_); }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  ~OwnFolder() {
    std::error_code nobody_asks;
    fs::remove_all(path_, nobody_asks);
  }
  [[nodiscard]] std::string path() const { return path_; }

 private:
  fs::path path_ = fs::temp_directory_path() / fmt::format("polypath-tests-{}", getpid());
};

Variables usual() {
  static const OwnFolder folder;
  return {{"LD_LIBRARY_PATH", standin_folder()},
          {"TMPDIR", folder.path()},
          {"STANDIN_STRICT", "1"},
          // Transfers of tests beside this one would be planned around.
          {"POLYPATH_LEDGER_FOLDER", folder.path() + "/ledger"},
          // No calibration of whoever runs the tests.
          {"XDG_CACHE_HOME", "/dev/null/nowhere"},
          // Nor plans that an earlier test has left.
          {"POLYPATH_KEEP_PLANS", "0"}};
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
  variables.merge(Variables{{"LD_PRELOAD", preload_path()},
                            {"POLYPATH_STATS", "1"},
                            // So that the first copies count, and however few CPUs there are.
                            {"POLYPATH_PREPARE", "now"},
                            {"POLYPATH_COPY_THREADS", "3"}});
  variables.merge(usual());
  return run(command, variables);
}

ProgramRun run_plain(const std::vector<std::string>& command, const Variables& more) {
  Variables variables = more;
  variables.merge(usual());
  return run(command, variables);
}

std::string preload_path() { return POLYPATH_PRELOAD; }

std::string standin_folder() {
  const bool built = fs::exists(POLYPATH_STANDIN "/libcuda.so.1");
  return built ? POLYPATH_STANDIN : "";
}

}  // namespace polypath::preload
