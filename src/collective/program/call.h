#pragma once
// One rank's call.

#include <cstdint>
#include <vector>

#include "collective/program/request.h"
#include "driver/driver.h"

namespace polypath::collective {

/// The rank's input and where it gets the result. In place if the input is this rank's part of the
/// result, as request.h says; then all ranks are in place. Of `reduce` the output counts at the
/// root only, of `broadcast` the input there and elsewhere the output.
struct CollectiveCall {
  Collective collective = Collective::all_reduce;
  Reduction reduction = {};  ///< its type is that of the elements in any case
  int root = 0;
  std::uint64_t elements = 0;  ///< as CollectiveRequest has them
  Address input = {};
  Address output = {};
  /// Of all_to_all_v, the same at all ranks. A rank without anything to give or to get has no
  /// address, so that it is in place where this says so.
  std::vector<std::uint64_t> counts = {};
  bool in_place = false;
  /// As CollectiveRequest has them; in the calls that a longer one is made as.
  std::uint64_t pitch = 0;
  std::vector<std::uint64_t> sent_at = {}, received_at = {};
};

}  // namespace polypath::collective
