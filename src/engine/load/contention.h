#pragma once
// What is asked of the load before a transfer is planned, and the answer.

#include <cstdint>

#include "driver/driver.h"
#include "engine/load/recurring_set.h"
#include "plan/single/planner.h"

namespace polypath::engine {

/// A transfer about to be planned.
struct TransferRequest {
  StreamHandle stream;
  PlaceId source;
  PlaceId destination;
  Bytes bytes;
};

/// The transfers that it has to share the machine with.
struct Contention {
  ConcurrentTransfers load;  ///< transfers of this process between other places, now or soon
  Load foreign_load;  ///< taken of each resource by other processes between other places, which
                      ///< know as little of what comes next
  BothWays both_ways = BothWays::no;  ///< one as large goes the other way: plan for both instead
  bool followers_unknown = false;     ///< others are in flight, and this is the first of its way
  bool meets_way_back = false;        ///< and is in flight now, issued by another process
  bool meets_same_way = false;        ///< one of another stream of this process goes the same way
  /// All of the above with the transfer itself, if each of these transfers knows the same set; else
  /// empty.
  RecurringSet set = {};
  std::uint64_t set_name = 0;  ///< of what recurs with it and with other processes, known or not
};

}  // namespace polypath::engine
