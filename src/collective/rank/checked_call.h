#pragma once
// A rank's call without its addresses: as a request, and as the record that the ranks compare.

#include <vector>

#include "collective/program/call.h"
#include "collective/program/request.h"
#include "communicator/node/call_record.h"

namespace polypath::collective {

/// The request of such a call among these ranks. Fields that the operation does not use have their
/// defaults, so that equal calls have equal requests.
CollectiveRequest request_of(const CollectiveCall& call, std::vector<PlaceId> ranks = {});

/// The record of what must be the same at all ranks. `request` need not have ranks.
CallRecord record_of(const CollectiveRequest& request);

/// How many bytes a rank's memories have in a call, if it needs both.
struct CallBytes {
  Bytes input;
  Bytes output;
};
CallBytes bytes_of_call(const CollectiveCall& call, int ranks, int rank);

/// Error (invalid_argument) if `rank` has no address where it gives or gets something, or if the
/// two memories overlap although the call is not in place.
void check_memory(const CollectiveCall& call, int ranks, int rank);

}  // namespace polypath::collective
