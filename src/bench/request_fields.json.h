#pragma once
// The fields that all requests share; docs/json.md describes them.

#include <string>
#include <vector>

#include "core/json_reader.json.h"

namespace polypath::bench {

inline constexpr std::size_t kLongestText = 4096;
inline constexpr std::size_t kMostElements = 65536;

/// Of a request that cannot be used.
JsonComplaint request_complaint();

/// A field that may be left out, or be empty.
std::string text_or(const JsonField& request, const char* key, const char* otherwise);

std::vector<std::string> names_of(const JsonField& list);
/// At least one, in bytes.
std::vector<Bytes> sizes_of(const JsonField& list);

}  // namespace polypath::bench
