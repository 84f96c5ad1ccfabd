#pragma once
// Sizes as people write them: "64M", "1GiB", "4096".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/layers.h"
#include "core/units.h"

namespace polypath {

/// Reads a size: a non-negative integer, then optionally K, M, G or T (powers of 1024), each
/// optionally followed by B or iB. `what` names the value in the error (invalid_argument).
Bytes parse_bytes(std::string_view text, std::string_view what = "size");

/// The shortest exact form that parse_bytes reads back: "64M", "4097".
std::string format_bytes(Bytes bytes);

// For sentences, tables and pictures, of the C++ side and of the Python one. Times and bandwidths
// keep their digits, so that columns of them line up: 3 significant ones, of times from 1 ms on 4.

/// "64 MiB", "1.5 MiB", "123 B".
std::string describe_bytes(Bytes bytes);
/// "12.3 us", "4.560 ms", "2.000 s"; "never" for what is not finite.
std::string describe_seconds(Seconds seconds);
/// "393 GB/s", "8.25 GB/s" (1 GB = 1e9 bytes).
std::string describe_bandwidth(BytesPerSecond bandwidth);

/// A decimal number that is the whole text; none if it is something else.
std::optional<int> parse_number(std::string_view text);

/// Text written by others, in a form that every terminal can show: U+FFFD stands for bytes that are
/// no UTF-8, as where it was cut off, and '?' for control characters but line ends.
std::string valid_text(std::string_view text);

/// The date where it is UTC: "2026-11-21".
std::string today();

/// The parts of `text` between separators, with surrounding blanks removed; empty parts are kept.
std::vector<std::string> split(std::string_view text, char separator);
/// `parts` with `separator` between them.
std::string join(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace polypath
