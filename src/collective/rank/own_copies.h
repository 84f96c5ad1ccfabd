#pragma once
// Copies of a rank's elements within its own memory.

#include "collective/program/call.h"
#include "collective/program/request.h"
#include "driver/driver.h"

namespace polypath::collective {

class OwnCopies {
 public:
  OwnCopies(Driver& driver, PlaceId gpu, int rank) : driver_(driver), gpu_(gpu), rank_(rank) {}

  /// Programs with a root are made for one memory of each rank: the root's input is also where it
  /// gets the result, and the other way round.
  void copy_of_root(const CollectiveCall& call, StreamHandle stream);
  /// Copies what the rank gives to itself; with a single rank that is all of the call. `request`
  /// has the ranks.
  void copy_at_home(const CollectiveCall& call, const CollectiveRequest& request,
                    StreamHandle stream);

 private:
  void copy_within(Address from, Address to, Bytes bytes, StreamHandle stream);

  Driver& driver_;
  PlaceId gpu_;
  int rank_;
};

}  // namespace polypath::collective
