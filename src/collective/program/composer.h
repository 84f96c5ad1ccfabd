#pragma once
// Lays out a collective as a program: copies and reductions between the ranks' memories, written
// down as one thread would do them one after another. The program does the same as that, with
// everything at the same time that the order leaves open (dependences.h). Each hop has a queue for
// its copies, each GPU one for what it does in its own memory. Messages between nodes whose
// adapters do not reach GPUs are three copies each, by way of two hosts; while one piece is on the
// network the next one is on its way to it.

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "collective/program/dependences.h"
#include "collective/program/exchanges.h"
#include "collective/program/message.h"
#include "collective/program/parts.h"
#include "collective/program/program_queues.h"
#include "collective/program/request.h"
#include "collective/program/scratch_slots.h"
#include "collective/program/tuning.h"
#include "collective/program/value_counts.h"
#include "collective/trees/packing.h"
#include "kernels/mail.h"
#include "machine/hop_table.h"
#include "machine/nodes.h"
#include "model/path.h"

namespace polypath::collective {

class Routes;

class Composer {
 public:
  /// `routes` splits messages over paths; not asked unless the tuning says several. Buffers of the
  /// program are the ranks' inputs and then their outputs, in place each rank's one memory.
  Composer(const Machine& machine, const CollectiveRequest& request, const Tuning& tuning,
           Routes* routes);
  Composer(const Composer&) = delete;
  Composer& operator=(const Composer&) = delete;

  [[nodiscard]] const Machine& machine() const { return hops_.machine(); }
  [[nodiscard]] const CollectiveRequest& request() const { return request_; }
  [[nodiscard]] const Tuning& tuning() const { return tuning_; }
  [[nodiscard]] int ranks() const { return request_.size(); }

  /// Where a rank's input and output are, from `offset` on.
  [[nodiscard]] Slice input(int rank, Bytes offset = {}) const;
  [[nodiscard]] Slice output(int rank, Bytes offset = {}) const;
  /// Scratch memory of rank `to` for `bytes` bytes from rank `from`: the least recently asked for
  /// of kPieceSlots. The caller no longer needs its old contents. None for 0 bytes.
  Slice slot(int from, int to, Bytes bytes);
  /// Scratch memory of the host nearest to a rank, for what the rank writes there, and of the rank,
  /// for what it reads from there; in the same way.
  Slice host_slot(int rank);
  Slice arrival_slot(int rank);
  /// Part `number` of `count` of the elements.
  [[nodiscard]] Part part(int number, int count) const;
  /// Pieces that messages go into, the largest of which has so many bytes.
  int pieces(Bytes most);
  [[nodiscard]] Part piece(const Part& part, int number, int pieces) const;

  /// Copies of 0 bytes, or of bytes that are there already, are left out of these.
  void copy(Slice from, Slice to, Bytes bytes);
  /// Messages at the same time; their order is that of issue.
  void send(std::vector<Message> messages);
  /// into = into ∘ from, both of one GPU.
  void reduce(Slice into, Slice from, Bytes bytes);
  /// result = ((x0 ∘ x1) ∘ x2) ∘ … of two to kMostOperands operands of one GPU, by one kernel. The
  /// result may be where one of them is.
  void reduce(Slice result, std::span<const Slice> operands, Bytes bytes);

  /// One kernel per rank, in lines one for each piece that mailboxes hold: each sends what begins
  /// at `from(rank)`, or one part of it to each rank, and reduces what arrives in the order of the
  /// ranks, or stores it side by side, at `to(rank)`.
  using SliceOfRank = Exchanges::SliceOfRank;
  void exchange(const Mail& mail, const SliceOfRank& from, const SliceOfRank& to);

  /// A kernel of those that the program's runner loads, in its GPU's queue.
  void run(KernelCall call);

  /// Trees for what the request moves, remembered where there are routes.
  [[nodiscard]] Packing pack(const PackingRequest& request) const;

  /// The program of all that, with its events.
  Program build() &&;

 private:
  [[nodiscard]] PlaceId place_of(const Slice& slice) const { return program_.buffer(slice).place; }
  void add(Node node);
  void add_copy(HopId hop, Slice from, Slice to, Bytes bytes);
  void send_by_host(const Message& message);
  void add_copy_by_hosts(HopId hop, Slice from, Slice to, Bytes bytes);

  HopTable hops_;
  const CollectiveRequest& request_;
  Tuning tuning_;
  Routes* routes_;
  int pieces_ = 1;
  Program program_;
  ProgramQueues queues_{machine(), tuning_, program_};
  ScratchSlots slots_{machine(), tuning_.joined, program_};
  Exchanges exchanges_{machine(), request_, tuning_, program_};
  Dependences dependences_;
  ValueCounts counts_;  ///< of an average
  std::map<HopId, NetworkPath> network_paths_;
};

/// Does `steps` for every piece, piece after piece: each step of a piece is written down after the
/// next step of the piece before, so that links carry one while the other is reduced.
void pipeline(int pieces, std::span<const std::function<void(int piece)>> steps);

}  // namespace polypath::collective
