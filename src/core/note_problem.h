#pragma once

#include <exception>
#include <string>

namespace polypath {

/// Makes a call and keeps what its error says, for ranks that tell each other before any of them
/// goes on. `problem` stays as it is if the call does not fail.
template <class Call>
void note_problem(std::string& problem, const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    problem = error.what();
  }
}

}  // namespace polypath
