#include "machine/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "machine/fingerprint.h"
#include "machine/load_machine.h"

namespace polypath::machine {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// The XDG base directory specification has a relative path ignored.
std::filesystem::path cache_folder() {
  std::filesystem::path chosen = variable("XDG_CACHE_HOME");
  if (chosen.is_absolute()) return chosen;
  const std::filesystem::path home = variable("HOME");
  if (home.is_absolute()) return home / ".cache";
  fail(ErrorCode::unsupported, "there is no folder for calibrations",
       "neither XDG_CACHE_HOME nor HOME is an absolute path", "Set one of them.");
}

[[noreturn]] void fail_to_write(const std::string& path, int error) {
  fail(ErrorCode::unsupported, fmt::format("file '{}' cannot be written", path),
       std::generic_category().message(error),
       "Check the folder's permissions and its free space.");
}

// A new file beside `path`, open for writing; its name replaces the X of `pattern`.
int open_beside(const std::string& path, std::string& pattern) {
  std::error_code problem;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), problem);
  if (problem) fail_to_write(path, problem.value());
  const int file = ::mkstemp(pattern.data());
  if (file < 0) fail_to_write(path, errno);
  return file;
}

// 0, or the error number of what failed.
int write_all(int file, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t now = ::write(file, text.data() + written, text.size() - written);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return errno;
    written += static_cast<std::size_t>(now);
  }
  return ::fsync(file) == 0 ? 0 : errno;
}

}  // namespace

std::string calibration_path(const Machine& nominal, const std::string& driver) {
  return cache_path(fmt::format("{}-{}.json", fingerprint(nominal), driver));
}

std::string cache_path(const std::string& name) {
  return (cache_folder() / "polypath" / name).string();
}

void write_whole(const std::string& path, const std::string& text) {
  std::string temporary = path + ".XXXXXX";
  const int file = open_beside(path, temporary);
  int error = write_all(file, text);
  if (::close(file) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(temporary.c_str());
  fail_to_write(path, error);
}

std::optional<CalibratedMachine> read_calibration(const std::string& path) {
  const std::string text = read_machine_file(path);
  CalibratedMachine found{parse_machine(text, path), {}, path};
  std::optional<Machine> nominal = parse_nominal_machine(text, path);
  if (!nominal) return std::nullopt;
  found.nominal = std::move(*nominal);
  return found;
}

std::optional<CalibratedMachine> stored_calibration(const Machine& nominal,
                                                    const std::string& driver) {
  const std::string path = calibration_path(nominal, driver);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  std::optional<CalibratedMachine> found = read_calibration(path);
  const bool same = found && fingerprint(found->measured) == fingerprint(nominal);
  if (same) return found;
  fail(ErrorCode::invalid_machine, fmt::format("'{}' cannot be used", path),
       fmt::format("it is no calibration of machine '{}'", nominal.name),
       "Remove it, and calibrate again.");
}

}  // namespace polypath::machine
