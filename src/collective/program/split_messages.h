#pragma once
// Messages that are sent over several paths each.

#include <functional>
#include <span>
#include <vector>

#include "collective/program/message.h"
#include "collective/program/routes.h"
#include "collective/program/scratch_slots.h"
#include "model/path.h"
#include "model/program.h"

namespace polypath::collective {

class SplitMessages {
 public:
  /// Adds a copy to the program.
  using AddCopy = std::function<void(HopId hop, Slice from, Slice to, Bytes bytes)>;

  /// A message is one of so many `pieces`. What is referred to outlives this.
  SplitMessages(const Program& program, ScratchSlots& slots, AddCopy add_copy, int pieces)
      : program_(program), slots_(slots), add_copy_(std::move(add_copy)), pieces_(pieces) {}

  /// Sends them at the same time, over the paths that `routes` says. Chunk by chunk, the first
  /// copies of all paths and then their second ones, as in transfers.
  void send(std::span<const Message> messages, Routes& routes, bool by_joint_plan);

 private:
  /// A path, the part of a message that it carries, and in how many chunks.
  struct Way {
    Path path;
    Message message;
    int chunks = 1;
  };
  /// A chunk in a slot, on its way.
  struct SecondCopy {
    Path path;
    Message message;
  };

  [[nodiscard]] std::vector<Way> ways_of(std::span<const Message> messages, Routes& routes,
                                         bool by_joint_plan) const;
  void send_chunk(const Way& way, int chunk, std::vector<SecondCopy>& second);
  void empty_slots(HopId first, std::vector<SecondCopy>& second);
  void add(const SecondCopy& copy);

  const Program& program_;
  ScratchSlots& slots_;
  AddCopy add_copy_;
  int pieces_;
};

}  // namespace polypath::collective
