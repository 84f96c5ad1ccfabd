#include "driver/trace/trace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/descriptor.h"
#include "core/log.h"

namespace polypath::trace {
namespace {

std::string computer_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

bool replace_all(std::string& text, const std::string& what, const std::string& by) {
  bool any = false;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
    any = true;
  }
  return any;
}

bool write_all(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

std::string path_for_this_process(const std::string& pattern) {
  const std::string number = std::to_string(getpid());
  std::string path = pattern;
  const bool says_process = replace_all(path, "%p", number);
  replace_all(path, "%h", computer_name());
  if (says_process) return path;
  const std::filesystem::path whole(path);
  const std::string ending = whole.extension().string();
  return (whole.parent_path() / (whole.stem().string() + "." + number + ending)).string();
}

TraceFile::TraceFile(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  path_ = error ? path : absolute.string();
  write("[\n", O_CREAT | O_TRUNC);
}

void TraceFile::add(const std::vector<std::string>& events) noexcept {
  if (!open_ || events.empty()) return;
  std::string text;
  for (const std::string& event : events) {
    if (std::exchange(any_, true)) text += ",\n";
    text += event;
  }
  write(text, O_APPEND);
}

void TraceFile::close() noexcept {
  if (open_) write("\n]\n", O_APPEND);
  open_ = false;
}

void TraceFile::write(const std::string& text, int flags) noexcept {
  constexpr int kForEverybodyAsUsual = 0666;
  const Descriptor file(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | flags, kForEverybodyAsUsual));
  if (file.is_open() && write_all(file.get(), text)) return;
  open_ = false;
  log(LogLevel::warning, fmt::format("no trace is written any more: {} cannot be written ({})",
                                     path_, std::strerror(errno)));
}

}  // namespace polypath::trace
