#pragma once
// What a peer can be told to do: by one line of words, which it answers by one line.

#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "standin/driver_api.h"
#include "support/layers.h"

namespace polypath::test {

using Words = std::istringstream;
using Commands = std::map<std::string, std::function<std::string(Words&)>>;

/// Memory, handles of it, and what is done with it.
Commands memory_commands();
/// Memory at virtual addresses, in pieces side by side.
Commands mapping_commands();
/// The driver, its GPUs and contexts, and how the program ends.
Commands process_commands();

inline std::string answer(cuda::Result result, const std::string& value = "ok") {
  return result == 0 ? value : "error " + std::to_string(result);
}

template <class Value>
Value next(Words& words) {
  Value value{};
  words >> value;
  return value;
}

}  // namespace polypath::test
