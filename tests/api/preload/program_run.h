#pragma once
// Runs one of the test programs over the stand-in driver, with or without the preload library.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace polypath::preload {

/// How a program ended and what it wrote.
struct ProgramRun {
  int status = -1;  ///< exit status; 128 and more: ended by a signal; or one of those below
  std::string output;
  std::string errors;

  /// The calls that the tables of all processes count under `text`.
  [[nodiscard]] std::uint64_t calls(const std::string& text) const;
};

using Variables = std::map<std::string, std::string>;

constexpr int kTookTooLong = 124;
constexpr int kReported = 123;  ///< a sanitizer reported something, of it or of what it has started
constexpr int kCannotRunHere = 77;

/// Runs a program of tests/api/preload/programs to its end, with violations that the stand-in
/// finds as failures. `more` comes on top of the usual environment: the preload library with its
/// statistics, which prepares what it needs when it needs it. A program that takes minutes is
/// killed, with all that it has started.
ProgramRun run_program(const std::vector<std::string>& command, const Variables& more = {});

/// The same without Polypath.
ProgramRun run_plain(const std::vector<std::string>& command, const Variables& more = {});

/// What `preloaded` did otherwise than `plain`, in words; empty if nothing. What is allowed to
/// differ is said in programs/harm.h.
std::string difference(const ProgramRun& plain, const ProgramRun& preloaded);

/// The preload library, and a folder with the stand-in driver; empty if it has not been built.
std::string preload_path();
std::string standin_folder();

}  // namespace polypath::preload
