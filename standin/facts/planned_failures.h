#pragma once
// Calls that are to fail on request: STANDIN_FAIL.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace polypath::standin {

/// The uses `first` to `last` of a function, counted from 1, fail with `code`.
struct PlannedFailure {
  std::string function;  ///< without suffixes: "cuMemAlloc"
  std::uint64_t first = 1;
  std::uint64_t last = 1;
  int code = 999;
};

/// "cuMemAlloc:3", "cuMemAlloc_v2:3-5:2", "cuStreamCreate:1-" and several, separated by commas.
/// Error (invalid_argument) for what is none of these.
std::vector<PlannedFailure> parse_failures(const std::string& text);

/// "cuMemAlloc" of "cuMemAlloc_v2", "cuMemcpy" of "cuMemcpy_ptds".
std::string_view base_name(std::string_view symbol);
/// True for the form whose stream 0 is the calling thread's own; takes the suffix that says so
/// away.
bool remove_per_thread_suffix(std::string_view& symbol);

}  // namespace polypath::standin
