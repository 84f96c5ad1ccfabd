#include "api/python/own_messages.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/log.h"

namespace polypath::python {

bool OwnMessages::serve(Communicator& communicator) const {
  const std::vector<Blob> why_not = communicator.all_gather(why_not_);
  for (std::size_t rank = 0; rank < why_not.size(); ++rank) {
    if (why_not[rank].empty()) continue;
    log(LogLevel::info,
        fmt::format("messages between nodes go over TCP (at rank {} {})", rank, why_not[rank]));
    return false;
  }
  return true;
}

std::unique_ptr<Transport> OwnMessages::connect(Communicator& /*communicator*/) {
  fail(ErrorCode::internal, "There are no messages of the program's own library", why_not_,
       "Report this as a bug.");
}

}  // namespace polypath::python
