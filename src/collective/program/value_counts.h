#pragma once
// Of how many ranks' values the bytes of a program's buffers are, which averages go by: those that
// nothing has written are of one, a copy has what was copied, a reduction what both sides have.

#include <algorithm>
#include <map>

#include "collective/program/request.h"
#include "model/program.h"

namespace polypath::collective {

inline bool averages(const CollectiveRequest& request) {
  return request.reduction.operation == ReduceOperator::average;
}

/// Of how many values an average is: of all ranks' at least.
inline int averaged(const CollectiveRequest& request) {
  return std::max(request.reduction.values, request.size());
}

class ValueCounts {
 public:
  /// Of that memory, all of which is of equally many; error (internal) if it is not.
  [[nodiscard]] int at(const Slice& slice, Bytes bytes) const;
  void set(const Slice& slice, Bytes bytes, int count);
  void copy(const Slice& from, const Slice& to, Bytes bytes);

 private:
  struct Stretch {
    Bytes end;
    int count = 1;
  };
  using Stretches = std::map<Bytes, Stretch>;  ///< by where they begin; they do not overlap

  /// Those of a part of the memory, from its begin on.
  [[nodiscard]] Stretches within(const Slice& slice, Bytes bytes) const;

  std::map<int, Stretches> of_buffers_;
};

}  // namespace polypath::collective
