#pragma once
// The Error that a call throws.

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "core/error.h"
#include "support/layers.h"

namespace polypath::test {

/// The Error of `call`; a test failure and empty if it throws none.
template <class Call>
std::optional<Error> error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return std::nullopt;
}

/// Expects an error of `code` whose message contains all of `parts`.
template <class Call, class... Parts>
void expect_error(ErrorCode code, Call call, const Parts&... parts) {
  const std::optional<Error> error = error_of(call);
  if (!error) return;
  EXPECT_EQ(name_of(error->code()), std::string(name_of(code))) << error->what();
  for (const std::string& part : {std::string(parts)...})
    EXPECT_NE(std::string(error->what()).find(part), std::string::npos)
        << "'" << part << "' is not in: " << error->what();
}

template <class Call, class... Parts>
void expect_invalid_argument(Call call, const Parts&... parts) {
  expect_error(ErrorCode::invalid_argument, call, parts...);
}

}  // namespace polypath::test
