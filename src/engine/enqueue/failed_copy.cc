#include "engine/enqueue/failed_copy.h"

#include <fmt/format.h>

#include "core/text.h"

namespace polypath::engine {

void fail_to_copy(const Machine& machine, Bytes bytes, const CopyEnds& ends, const Error& error) {
  const std::string message = fmt::format("a copy of {} from {} to {} has failed ({})",
                                          describe_bytes(bytes), machine.place(ends.source).name,
                                          machine.place(ends.destination).name, error.what());
  if (dynamic_cast<const UnsettledError*>(&error) != nullptr)
    throw UnsettledError(error.code(), message);
  throw Error(error.code(), message);
}

}  // namespace polypath::engine
