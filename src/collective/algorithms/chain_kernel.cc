// Broadcast from rank to rank, by one kernel per GPU: each stores what comes from the one before it
// and sends it on to the next one, parcel by parcel.
//
// No rank sends or receives more than the message, as in `twoshot`, but each sends to one other
// rank, which kernels do faster than to several: 361 instead of 354 GB/s at best, and 331 instead
// of 313 by as many blocks as collectives take (results/h200x4/sending.json). Cost: the last of n
// ranks has its first parcel n − 2 laps later than the first one.

#include "collective/algorithms/algorithm.h"
#include "collective/program/mail.h"

namespace polypath::collective {
namespace {

void compose_chain_kernel(Composer& composer) {
  const CollectiveRequest& request = composer.request();
  const Bytes message = request.part();
  composer.exchange(
      {.use = MailUse::pass_on,
       .message = message,
       .end = message,
       .same_for_all = true,
       .sender = request.root},
      [&](int rank) { return composer.input(rank); },
      [&](int rank) { return composer.output(rank); });
}

bool can_chain_kernel(const Machine& machine, const CollectiveRequest& request) {
  return request.size() > 2 && can_mail(machine, request.ranks, largest_part(request));
}

}  // namespace

Algorithm chain_kernel() {
  return {.name = "chain-kernel",
          .sentence = "a kernel per GPU stores what comes, and sends it on to the next rank",
          .order = kRankOrder,
          .collectives = {Collective::broadcast},
          .compose = compose_chain_kernel,
          .can = can_chain_kernel,
          .why_not =
              "three ranks, messages that its mailboxes hold, and NVLink between all ranks "
              "are needed",
          .is_kernel = true};
}

}  // namespace polypath::collective
