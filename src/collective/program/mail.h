#pragma once
// Kernels that exchange messages (kernels/mail.h) in collectives' programs: how large messages may
// be, which way they go, and where mailboxes are.

#include <map>
#include <span>
#include <vector>

#include "driver/driver.h"
#include "kernels/mail.h"
#include "machine/machine.h"
#include "model/program.h"

namespace polypath::collective {

/// The largest message that goes to each of so many ranks in lines.
Bytes line_room(int ranks);
/// The box of a message: one of two sizes, so that there are no more than two mailboxes. In parcels
/// messages of any size go through it.
Bytes mail_box(int ranks, MailWay way);
/// True if messages as large as that can be reduced and shared in lines.
bool can_share_in_lines(int ranks, Bytes message);
/// Lines or parcels, whichever are over first by the machine's numbers and the hop between the
/// first two ranks.
MailWay mail_way(const Machine& machine, std::span<const PlaceId> ranks, Bytes message);

/// True if kernels of all these GPUs can exchange messages: each writes into the others' memory
/// over NVLink, where lines arrive whole. Messages are not longer than most_mailed().
bool can_mail(const Machine& machine, std::span<const PlaceId> ranks, Bytes message);
/// Between two ranks copies are as fast from there on, and leave the multiprocessors to others:
/// all-reduces of 256 MiB take 727 to 766 us by copies and 760 by a kernel, beside which a product
/// waits (results/h200x2/collectives.json, collectives_in_laps.json, beside_product_in_laps.json).
/// Among more, copies hold each other up: out of an H100's port to three others they reach 0.43 of
/// what it carries, kernels 0.86 (results/h100x4/collectives.json). At 1 GiB kernels take 0.48 to
/// 0.61 of the time of such copies, and an all-gather as long as in a ring of copies
/// (collectives_chosen.json).
constexpr Bytes most_mailed(std::size_t ranks) {
  return ranks > 2 ? Bytes{(2_GiB).value / ranks} : 128_MiB;
}

/// The first mailbox of a program's buffers; the caller's and mailboxes come first. As many as
/// there are buffers if it has none.
int first_mailbox_of(const Program& program);
/// How large they are, as its kernels say; all are.
Bytes mailbox_bytes_of(const Program& program);

/// The mailboxes of all GPUs of one process.
class Mailboxes {
 public:
  explicit Mailboxes(Driver& driver) : driver_(driver) {}
  Mailboxes(const Mailboxes&) = delete;
  Mailboxes& operator=(const Mailboxes&) = delete;
  ~Mailboxes();

  /// The addresses of the program's buffers, whose first ones are the caller's; makes mailboxes
  /// that are not there.
  [[nodiscard]] std::vector<Address> addresses(const Program& program,
                                               std::span<const Address> callers);

 private:
  [[nodiscard]] Address of(PlaceId gpu, Bytes bytes);

  Driver& driver_;
  std::map<std::pair<PlaceId, Bytes>, Address> made_;
};

}  // namespace polypath::collective
