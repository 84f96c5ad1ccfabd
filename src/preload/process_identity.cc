#include "preload/process_identity.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

#include "core/files.h"

namespace polypath::preload {
namespace {

std::optional<std::uint64_t> number_space() {
  struct stat about {};
  if (stat("/proc/self/ns/pid", &about) != 0) return std::nullopt;
  return about.st_ino;
}

std::optional<std::uint64_t> start_of(std::int64_t number) {
  const auto text = read_file(fmt::format("/proc/{}/stat", number), 4096);
  return text ? start_in(text->c_str()) : std::nullopt;
}

}  // namespace

// "NUMBER (NAME) STATE ..." with the start as the 22nd field. The name may contain anything.
std::optional<std::uint64_t> start_in(const char* stat) {
  constexpr int kFieldsFromState = 19;
  const char* at = std::strrchr(stat, ')');
  if (at == nullptr || at[1] != ' ') return std::nullopt;
  at += 2;
  if (*at == 'Z' || *at == 'X' || *at == 'x') return std::nullopt;
  for (int field = 0; field < kFieldsFromState; ++field) {
    at = std::strchr(at, ' ');
    if (at == nullptr) return std::nullopt;
    ++at;
  }
  std::uint64_t start = 0;
  const auto [end, error] = std::from_chars(at, at + std::strlen(at), start);
  return error == std::errc{} && (*end == ' ' || *end == '\n' || *end == '\0')
             ? std::optional(start)
             : std::nullopt;
}

std::optional<ProcessIdentity> this_process() {
  const auto space = number_space();
  const auto start = start_of(getpid());
  if (!space || !start) return std::nullopt;
  return ProcessIdentity{getpid(), *start, *space};
}

bool is_alive(const ProcessIdentity& process) {
  return process.number > 0 && number_space() == process.number_space &&
         start_of(process.number) == process.start;
}

}  // namespace polypath::preload
