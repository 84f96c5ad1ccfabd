#pragma once
// How a call of the stand-in fails: with one of CUDA's codes, and with words for STANDIN_LOG.

#include <string>

#include "standin/abi.h"

namespace polypath::standin {

struct Failure {
  Result result;
  std::string why;
};

[[noreturn]] inline void refuse(Result result, std::string why) {
  throw Failure{result, std::move(why)};
}

/// Writes a result where the program wants it.
template <class Value, class Given>
void store(Value* where, Given value) {
  if (where == nullptr) refuse(kInvalidValue, "the result has nowhere to go");
  *where = static_cast<Value>(value);
}

}  // namespace polypath::standin
