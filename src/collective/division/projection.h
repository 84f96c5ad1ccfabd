#pragma once
// Takes one rank's part from a program over the memories of all ranks, where each rank is a
// process.
//
// A node is done by the rank whose GPU issues it (Program's queue; that of a GPU which is no rank
// goes to the rank that has the node's destination, else its source). An edge between nodes of one
// rank stays one. Between ranks it becomes a flag: a word of memory that the earlier node's rank p,
// the producer, sets, and the later one's rank c, the consumer, awaits and clears. The flags of the
// ordered pair (p, c) lie in c's memory and have numbers: word 0 says that p has entered, the
// others are for edges. All of them are 0 at first.
//
//   c's stream:  … │ entry to all whom it concerns │ c's nodes, flags among them │ ends awaited │ …
//
// 1. At the start of its part c sets word 0 of (c, p) at every rank p that has to know it.
// 2. Before p first touches memory of c, or does what a node of c comes after, it awaits that,
//    unless it comes after something that c has done in this run.
// 3. c's part ends after all nodes that touch c's memory, its input and its scratch memory
//    included, be they known by a flag or by what came after them.
//
// A rank's parts of several programs run one after another in its stream, those of all ranks in the
// same order. Then no flag is set a second time before it has been awaited and cleared, and so none
// is missed:
//
// - A word k > 0 of (p, c) has as many awaits as signals in a program, each signal before its
// await.
//   Within a run it is used again only where the signal and its await both come after a node of c
//   which comes after the earlier await. In the next run that uses it p signals after it knows that
//   c has entered (2), and c has entered after its part of the run before, which has all of its
//   awaits.
// - Word 0 of (c, p) is set in a run only if p awaits it in that run (1, 2). p then touches c's
//   memory, or does what a node of c comes after; so c's part ends after p has cleared the word
//   (3), and c enters the next run after that.
//
// Nor do ranks wait for each other in a circle, even if GPUs do one after another work that could
// go at the same time: a signal stands before its await in the order (run, number of node), entries
// before all nodes, and every rank issues its parts in that order; nothing waits for later issued
// work. That holds for graphs, too: their branches share queues of the GPU, which take nodes in the
// order in which they were made (results/h200x2/graph_queues.json).
//
// Flags are few. A node needs no flag for nodes that it comes after anyway. It needs no second flag
// for a node that its rank awaits elsewhere already, if it comes after all that this await comes
// after.

#include <vector>

#include "machine/machine.h"
#include "model/program.h"

namespace polypath::collective {

/// Flags of an ordered pair of ranks, unless it is said: words of 4 bytes.
inline constexpr int kFlagsPerPair = 512;

/// Memory that a rank gives to the others, as a buffer of the program.
struct ScratchUse {
  int buffer = 0;     ///< of the part's program
  HopId filled_over;  ///< the slots of this hop
  int slot = 0;       ///< and which of them
  int owner = 0;  ///< the rank that has them: the rank at that place, else the rank that fills them
};

/// One rank's part of a program.
struct RankPart {
  /// Its first buffers are those of the whole program that are not scratch memory, mailboxes last;
  /// then come the ranks' flags, one buffer for each rank's; then scratch memory, which is ordinary
  /// memory here, of hosts, too: a slot there is its owner's, and the ranks that read it are its
  /// readers.
  Program program;
  int first_flags = 0;  ///< the buffer of rank 0's flags
  /// The buffer of rank 0's mailbox, which the others' follow; first_flags if there are none.
  int first_mailbox = 0;
  Bytes mailbox;  ///< how large they are
  std::vector<ScratchUse> scratch;
  /// Flags of the pair of ranks that needs most; as many as the whole program needs, whosever part.
  int flags_per_pair = 0;
};

/// Where a rank's flags are: in its GPU's memory if all the others reach that, else in the host's.
PlaceId flags_place(const Machine& machine, const std::vector<PlaceId>& ranks, int rank);

/// True if no node copies between two GPUs of which one does not reach the other's memory. Ranks
/// that are processes can run no others: no driver opens such memory to another process.
bool stays_within_reach(const Machine& machine, const Program& program);

/// Where the flags of a pair lie in the consumer's: `per_pair` words for each producer.
constexpr Bytes flag_offset(int producer, int word, int per_pair) {
  return kFlagBytes * (static_cast<std::uint64_t>(producer) * static_cast<std::uint64_t>(per_pair) +
                       static_cast<std::uint64_t>(word));
}

/// When a rank awaits that others have entered.
enum class EntryAwaits {
  where_needed,  ///< each in the queue that touches the other's memory first: for streams
  /// All before everything else: for graphs of programs that reduce. There a branch that awaits
  /// what is to be added may hold up the copies of another one. Where nothing is added several
  /// calls in one graph then take 1.6 times as long (results/h100x2/graph_branches.json).
  at_first,
};

/// The parts of all ranks, in order. `ranks` are their GPUs; `per_pair` words are kept for each
/// pair. Error (unsupported) if the program needs more, (internal) if some node is of no rank.
std::vector<RankPart> project(const Machine& machine, const Program& program,
                              const std::vector<PlaceId>& ranks, int per_pair,
                              EntryAwaits entries = EntryAwaits::where_needed);

}  // namespace polypath::collective
