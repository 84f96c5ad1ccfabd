#pragma once
// Every rank sends a message to every rank, or one rank to or from all, by one kernel per GPU,
// which also reduces what arrives, in the order of the ranks, or stores it side by side, and may
// send on what comes of it. No memory but the mailboxes has to be within reach of other GPUs.
//
// In lines messages of b bytes take 3.7 us and b/(303 GB/s) more on two H200s under NVLink: a line
// of 128 bytes has 120 of the message (results/h200x2/kernels.json). In parcels they take 7.7 us
// and b/(359 GB/s) more on two H100s (results/h100x2/parcels.json).

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "kernels/mailbox_layout.h"
#include "model/kernel.h"
#include "model/reduction.h"

namespace polypath::kernels {

/// The treatment of the messages that arrive.
enum class MailUse {
  reduce,
  store,
  /// They are reduced, and the result goes to all ranks, or to the root, which has no part of its
  /// own. The results are stored side by side there, each where the messages that it was made of
  /// were in the input. For a root in parcels only.
  reduce_and_share,
  /// The root's parts are stored, and each goes to all other ranks but the root. In parcels.
  store_and_share,
  /// The sender's message is stored, and each rank sends it on to the next one. In parcels.
  pass_on,
};

/// True if what comes of the messages that arrive is sent on, in a second phase.
constexpr bool has_second_phase(MailUse use) {
  return use == MailUse::reduce_and_share || use == MailUse::store_and_share;
}

/// How messages go: see mailbox_layout.h.
enum class MailWay { lines, parcels };

/// Its memory is the input, the output, and the mailboxes of all ranks; without an image for GPUs
/// if there was no CUDA compiler when this was built.
Kernel mail_kernel(MailUse use, MailWay way = MailWay::lines);

/// The kernel of that name, if it is one of these. For one rank's part on the host, while other
/// processes run theirs.
struct MailKind {
  MailUse use = MailUse::store;
  MailWay way = MailWay::lines;
};
std::optional<MailKind> mail_kind_of(std::string_view name);
/// In how many laps ranks meet in a call with such values.
int mail_laps(const MailKind& kind, std::span<const std::uint64_t> values);
/// How many ranks they are, and which one it is.
int mail_ranks(std::span<const std::uint64_t> values);
int mail_rank(std::span<const std::uint64_t> values);
/// True once all has come that the rank takes in after meeting in the lap, the last of the values;
/// memory and values as of the kernel's functions.
bool mail_has_arrived(const MailKind& kind, std::span<std::byte* const> memory,
                      std::span<const std::uint64_t> values);
/// True once no rank is to wait for another any more.
bool mail_is_abandoned(std::span<std::byte* const> memory, std::span<const std::uint64_t> values);

/// The messages of all ranks in one call.
struct Mail {
  MailUse use = MailUse::store;
  MailWay way = MailWay::lines;
  Bytes message;              ///< the largest; of lines no box is smaller
  Bytes stride = {};          ///< from one message to the next, where they are side by side
  Bytes end;                  ///< of the last one, from the first one's begin; it may be shorter
  bool same_for_all = false;  ///< else the input has one message for each rank, side by side
  std::optional<int> sender = {};    ///< the only one
  std::optional<int> receiver = {};  ///< the only one
  /// Of what is collected or shared, the rank without a part: messages are for the others, side by
  /// side. Of what is stored and shared it is the sender, too.
  std::optional<int> root = {};
};

/// One rank's part.
struct MailCall {
  Mail mail = {};
  Reduction reduction = {};
  int rank = 0, ranks = 0;
  Bytes box;
  /// That it takes at most, the same at all ranks; 0: as many as leave room for other kernels.
  unsigned multiprocessors = 0;
};

std::vector<std::uint64_t> mail_values(const MailCall& call);
/// The message of one rank to another one, or to itself.
Bytes message_bytes(const MailCall& call, int from, int to);
/// The same of the second phase, in which ranks send what comes of their parts.
Bytes shared_bytes(const MailCall& call, int from, int to);
/// The bytes that this rank reads of its input, from its begin on, and writes of its output.
Bytes bytes_read(const MailCall& call);
Bytes bytes_written(const MailCall& call);

/// A group of eight threads per line, or a block per parcel, until so many blocks fill the links.
LaunchShape mail_shape(const MailCall& call);

/// How often the ranks meet in the call: for each lap of a message that is longer than its box,
/// again for what they share, and until what is passed on comes to the last one.
int laps_of(const MailCall& call);
/// Parcels that a block sends of a message, one after another.
int parcels_in_turn(const MailCall& call);
/// A box in which messages of any size go in parcels, in laps of two for each block.
Bytes least_parcel_box();
/// The bytes that a message takes of a box; of the links it takes no more than that.
Bytes box_for(Bytes message, MailWay way = MailWay::lines);
/// The same of a message whose result goes to all.
Bytes box_for_sharing(Bytes message);
/// The bytes that a message takes of the links.
Bytes bytes_on_links(Bytes message, MailWay way);

}  // namespace polypath::kernels
