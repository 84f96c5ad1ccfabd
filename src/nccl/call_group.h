#pragma once
// What a thread calls between the begin and the end of a group.

#include <memory>
#include <optional>
#include <vector>

#include "nccl/communicators.h"
#include "nccl/counts.h"
#include "nccl/member.h"

namespace polypath::nccl {

/// The calls of one communicator in a group, in order.
struct CallsOfMember {
  std::shared_ptr<Member> member;
  std::vector<Call> collectives, messages;
};

struct CallGroup {
  struct Kept {
    Call call;
    std::shared_ptr<Member> member;
  };

  int depth = 0;
  bool has_left = false;  ///< some call was left to NCCL
  std::vector<Kept> calls;
  std::vector<MadeCommunicator> made;
  std::vector<const Member*> left = {};  ///< whose collectives are all NCCL's

  /// This thread's.
  static CallGroup& of_thread();
  /// One more begin.
  void begin();
  /// Why a collective is NCCL's at once.
  [[nodiscard]] std::optional<Fate> left_at_once(Member& member, const Call& call);
  /// What has been kept, which is gone then.
  [[nodiscard]] std::vector<CallsOfMember> take_calls();
};

}  // namespace polypath::nccl
