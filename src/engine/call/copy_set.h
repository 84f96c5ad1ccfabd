#pragma once
// Which copies of several that are asked for together may run beside each other, and in which
// streams; arithmetic only.
//
// Copies on different streams run beside each other anyway. Those of one stream may where the
// program cannot observe it: if none of them writes memory that another one of that stream reads or
// writes. Then each way, from one place to another, has a branch of the stream; all copies of a way
// stay in order, because beside each other they would only share the same paths.

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/call/copy_call.h"
#include "plan/joint/joint_draft.h"

namespace polypath::engine {

/// The driver's answers about the ends and the stream of the previous copy: the driver need not be
/// asked again about each of hundreds of copies.
struct SeenBefore {
  struct Memory {
    MemoryInfo info;
    Reach reach = {};
  };
  std::optional<Memory> source;
  std::optional<Memory> destination;
  std::optional<std::pair<StreamHandle, bool>> captured;
  /// Below which size a copy like this one goes natively.
  struct Threshold {
    const CopyCall* call = nullptr;
    Address source_allocation, destination_allocation;
    Bytes bytes;
  };
  Threshold threshold = {};
};

/// One of the copies.
struct SetMember {
  const CopyCall& call;
  CopyEnds ends = {};
  Address source_allocation = {};  ///< where those that hold its ends begin
  Address destination_allocation = {};
  bool captured = false;   ///< its stream is
  bool plannable = false;  ///< it may be part of a joint plan
  bool piece = false;      ///< it may be planned as one of many pieces
};

/// A stream that runs beside one of the program's and is joined with it at the end.
struct Branch {
  StreamHandle beside;
  PlaceId gpu;  ///< of both
};

/// How the copies of a set run.
struct CopySet {
  /// By call; nothing for one that is no part of the joint plan.
  struct Part {
    std::optional<std::size_t> transfer;  ///< of the joint plan: several copies may be made by it
    std::optional<std::size_t> branch;    ///< none: the call's own stream
  };
  std::vector<Part> parts;
  std::vector<JointTransfer> transfers;  ///< that start together, in the order of issue
  std::vector<Branch> branches;
};

/// True if one of the copies writes what another one reads or writes.
bool depend_on_each_other(std::span<const SetMember> members);

/// Every plannable copy that is the first of its way in its stream is a transfer. Copies of the
/// same way and size that come later in the stream are made by the same plan; all others, and the
/// later ones of a stream whose copies depend on each other, are by themselves.
CopySet arrange(std::span<const SetMember> members);

/// The numbers of the calls in the order of issue if the transfers are issued in theirs: those that
/// one plan makes several of take turns with the others. What is in one stream, or one branch,
/// stays in order there.
std::vector<std::size_t> order_of_calls(const CopySet& set, std::span<const CopyCall> calls,
                                        const IssueOrder& transfers);

}  // namespace polypath::engine
