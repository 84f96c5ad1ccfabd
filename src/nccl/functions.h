#pragma once
// The functions of the real NCCL.

#include <functional>

#include "nccl/abi.h"

namespace polypath::nccl {

/// Null for those that the library does not have.
struct Functions {
#define POLYPATH_DECLARE(name, ...) Result (*name)(__VA_ARGS__) = nullptr;
  POLYPATH_NCCL_COLLECTIVES(POLYPATH_DECLARE)
  POLYPATH_NCCL_COMMUNICATORS(POLYPATH_DECLARE)
  POLYPATH_NCCL_QUESTIONS(POLYPATH_DECLARE)
#undef POLYPATH_DECLARE
  const char* (*GetLastError)(const RealCommunicator* comm) = nullptr;
};

/// `find` knows functions by their names: "ncclAllReduce".
Functions functions_of(const std::function<void*(const char* name)>& find);

/// The result of a function that the library does not have.
inline constexpr Result kMissing = kInvalidUsage;

}  // namespace polypath::nccl
