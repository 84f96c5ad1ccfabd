#pragma once
// Declarations shared by the host and the kernels of several GPUs that exchange messages.
//
// A **mailbox** belongs to a rank and lies in its memory (model/kernel.h). After its head it has
// two halves, used in turn, each with a box per sender. A message goes in one of two ways:
//
//   lines    128 bytes: 120 of the message, then a flag, written by eight neighbouring threads with
//            one instruction. Over NVLink the bytes of such a store arrive together, so that the
//            reader waits for the line only: the least latency, and 120/128 of the link at best.
//   parcels  what a block sends at once; its flag lies apart and is written when the parcel has
//            arrived. A block sends its next parcel before it takes in what came with the one
//            before, so that the links do not wait for that. A message that is longer than a box
//            goes in several **laps**, each of which fills a half as a call of its own would.
//
// A line or parcel that has arrived has the flag of the lap. Flags are numbers of laps, counted on
// the GPU so that a graph may be launched again and again; they come again after 2^32 of them.
//
// A half may be written again when its reader is done with its messages: a rank that sends in lap s
// + 2 has received all messages of lap s + 1, whose senders were done with lap s by then. So every
// rank sends every other one at least a line or a parcel in each call, even if the message is
// empty. Within a call that holds of each block by itself: it has the same parcels of all messages,
// as blocks of that number have on all ranks, and it sends a parcel of a lap once it has taken in
// the one in its place of the lap before. A mailbox has messages of one way alone.

#include <cstddef>
#include <cstdint>

#include "kernels/on_both.h"

namespace polypath::kernels {

inline constexpr std::size_t kMostMailRanks = 16;
inline constexpr std::uint64_t kLineBytes = 128;
inline constexpr std::uint64_t kLineMessage = 120;  ///< bytes of it that are the message's

/// The head: the state that a GPU keeps from call to call.
enum MailHead : std::uint64_t {
  kMailCalls = 0,       ///< 32 bits: laps that are done
  kMailFinished = 4,    ///< 32 bits: blocks of the present one that are
  kMailStarted = 8,     ///< 32 bits: blocks of it that have started, where they are counted
  kMailAbandoned = 64,  ///< 32 bits: not 0 once kernels must not wait any more
  kMailBells = 128,     ///< of simulated kernels: 2 x kMostMailRanks words of 32 bits
  kMailBoxes = 4096     ///< where the boxes begin
};

POLYPATH_ON_BOTH constexpr std::uint64_t divided_up(std::uint64_t bytes, std::uint64_t parts) {
  return (bytes + parts - 1) / parts;
}
/// At least one, even if the message is empty: its flag is sent.
POLYPATH_ON_BOTH constexpr std::uint64_t lines_of(std::uint64_t message) {
  return message == 0 ? 1 : divided_up(message, kLineMessage);
}
/// Bytes of a box for messages of at most so many.
constexpr std::uint64_t box_bytes(std::uint64_t message) { return lines_of(message) * kLineBytes; }
/// The same in parcels: their flags, then the message.
inline constexpr std::uint64_t kParcelFlags = 16384;  ///< bytes of them: 4096 parcels at most
inline constexpr std::uint64_t kMostParcels = kParcelFlags / sizeof(std::uint32_t);
constexpr std::uint64_t parcel_box_bytes(std::uint64_t message) {
  return kParcelFlags + (message + kLineBytes - 1) / kLineBytes * kLineBytes;
}
constexpr std::uint64_t mailbox_bytes(std::uint64_t ranks, std::uint64_t box) {
  return kMailBoxes + 2 * (ranks - 1) * box;
}
/// Which box of a half at rank `at` is a sender's: a rank has no box for itself.
POLYPATH_ON_BOTH constexpr std::uint64_t box_number(std::uint64_t at, std::uint64_t sender) {
  return sender < at ? sender : sender - 1;
}

inline constexpr std::uint64_t kEveryRank = ~std::uint64_t{0};
/// A receiver: each rank sends the sender's message on to the next one, in the lap after the one in
/// which it came.
inline constexpr std::uint64_t kNextRank = kEveryRank - 1;

/// Parameters of the kernels, in words of 64 bits: values, then addresses.
struct MailParameters {
  /// As mail_reduction (reduce_layout.h) has it; of what is stored side by side, any.
  std::uint64_t reduction;
  std::uint64_t rank, ranks;
  std::uint64_t bytes;  ///< of the largest message
  /// From what goes to one rank to what goes to the next; 0: all get the same.
  std::uint64_t send_stride;
  std::uint64_t receive_stride;  ///< of what is stored side by side
  /// Where the last message ends, from the first one's begin: the last ones may be shorter.
  std::uint64_t end;
  std::uint64_t sender, receiver;  ///< the only one, or kEveryRank; a receiver also kNextRank
  std::uint64_t root;              ///< the rank without a part of its own, or kEveryRank
  std::uint64_t box;               ///< bytes of it
  std::uint64_t parcel;            ///< bytes of it, a multiple of 16; 0: lines
  std::uint64_t slots;             ///< parcels of a lap, if there are so many
  std::uint64_t input, output;
  std::uint64_t mailboxes[kMostMailRanks];
};
inline constexpr std::size_t kMailValues = 13;
static_assert(sizeof(MailParameters) == (kMailValues + 2 + kMostMailRanks) * sizeof(std::uint64_t));

/// Which part a rank has, among those of all ranks but the root.
POLYPATH_ON_BOTH constexpr std::uint64_t part_number(const MailParameters& of, std::uint64_t rank) {
  return rank > of.root ? rank - 1 : rank;
}
/// Of what begins so far behind the first message's begin.
POLYPATH_ON_BOTH constexpr std::uint64_t bytes_from(const MailParameters& of, std::uint64_t begin) {
  if (begin >= of.end) return 0;
  return of.end - begin < of.bytes ? of.end - begin : of.bytes;
}
POLYPATH_ON_BOTH constexpr bool is_passed_on(const MailParameters& of) {
  return of.receiver == kNextRank;
}
/// How many ranks have the message that is passed on before this one has it.
POLYPATH_ON_BOTH constexpr std::uint64_t place_of(const MailParameters& of, std::uint64_t rank) {
  return (rank + of.ranks - of.sender) % of.ranks;
}
/// Laps in which the last rank gets nothing yet.
POLYPATH_ON_BOTH constexpr std::uint64_t laps_before_last(const MailParameters& of) {
  return is_passed_on(of) ? of.ranks - 2 : 0;
}
POLYPATH_ON_BOTH constexpr std::uint64_t passed_bytes(const MailParameters& of, std::uint64_t from,
                                                      std::uint64_t to) {
  if (from == to) return from == of.sender ? of.bytes : 0;
  return place_of(of, to) == place_of(of, from) + 1 ? of.bytes : 0;
}
/// The message of one rank to another one, or to itself.
POLYPATH_ON_BOTH constexpr std::uint64_t message_bytes(const MailParameters& of, std::uint64_t from,
                                                       std::uint64_t to) {
  if (is_passed_on(of)) return passed_bytes(of, from, to);
  if (to == of.root) return 0;
  if (of.sender != kEveryRank && of.sender != from) return 0;
  if (of.receiver != kEveryRank && of.receiver != to) return 0;
  return bytes_from(of, of.send_stride != 0 ? part_number(of, to) * of.send_stride
                                            : part_number(of, from) * of.receive_stride);
}
/// True if what the parts have become goes to the root alone; else to all ranks that lack it, which
/// a root that has sent all parts is not.
POLYPATH_ON_BOTH constexpr bool is_collected(const MailParameters& of) {
  return of.root != kEveryRank && of.sender != of.root;
}
/// The message of the second phase, in which ranks send what their parts have become.
POLYPATH_ON_BOTH constexpr std::uint64_t shared_bytes(const MailParameters& of, std::uint64_t from,
                                                      std::uint64_t to) {
  if (from == of.root) return 0;
  if (of.root != kEveryRank && (to == of.root) != is_collected(of)) return 0;
  return bytes_from(of, part_number(of, from) * of.receive_stride);
}

/// At least one, and then as many as the message has.
POLYPATH_ON_BOTH constexpr std::uint64_t parcels_of(std::uint64_t message, std::uint64_t parcel) {
  return message == 0 ? 1 : divided_up(message, parcel);
}

inline constexpr unsigned kMailThreads = 512;  ///< of a block at most
inline constexpr unsigned kParcelThreads = 512;
inline constexpr unsigned kThreadsOfLine = 8;

}  // namespace polypath::kernels
