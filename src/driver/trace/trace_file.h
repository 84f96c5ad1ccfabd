#pragma once
// A file of trace events, of one process: an array in JSON whose end may be missing, which is how a
// program that crashes leaves it, and which Perfetto opens like a whole one.

#include <string>
#include <vector>

namespace polypath::trace {

/// The path that POLYPATH_TRACE means in this process: %p is its number, %h the computer's name,
/// and without %p the number is put before the ending: "trace.json" is "trace.4711.json".
std::string path_for_this_process(const std::string& pattern);

/// Open only while it is written to: the program may close any number that it has not opened
/// itself. Failures are said once in the log, and then nothing more is written.
class TraceFile {
 public:
  /// Makes the file anew. A relative path is one of the folder at this time.
  explicit TraceFile(const std::string& path);

  /// Each is an event.
  void add(const std::vector<std::string>& events) noexcept;
  /// Ends the array. Nothing is added any more.
  void close() noexcept;
  [[nodiscard]] bool is_open() const { return open_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void write(const std::string& text, int flags) noexcept;

  std::string path_;
  bool open_ = true;
  bool any_ = false;
};

}  // namespace polypath::trace
