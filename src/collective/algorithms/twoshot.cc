// All-reduce: each rank sends every other one its values of that one's part, reduces those of its
// own, and sends the result to all. One kernel per GPU does it; two where lines are faster and a
// mailbox does not hold the lines of both.
//
// Of a message of S bytes each of n ranks sends 2(n−1)/n·S, where the one kernel of `oneshot` sends
// (n−1)·S: less for more than two, for twice the latency. Parts are ⌈E/n⌉ elements, the last ones
// fewer.
//
// Broadcast and reduce: the ranks beside the root have a part each. The root sends each its part,
// which that one sends to all others; or each reduces what all have of its part and sends the
// result to the root. No rank sends or receives more than S, all at the same time: `oneshot` sends
// (n−1)·S out of the root or into it.

#include <algorithm>

#include "collective/algorithms/algorithm.h"
#include "collective/program/mail.h"

namespace polypath::collective {
namespace {

void to_or_from_root(Composer& composer) {
  const CollectiveRequest& request = composer.request();
  const Bytes part = largest_part(request);
  Mail mail{.use = MailUse::reduce_and_share,
            .message = part,
            .stride = part,
            .end = request.part(),
            .root = request.root};
  if (request.collective == Collective::broadcast)
    mail.use = MailUse::store_and_share, mail.sender = request.root;
  composer.exchange(
      mail, [&](int rank) { return composer.input(rank); },
      [&](int rank) { return composer.output(rank); });
}

void compose_twoshot(Composer& composer) {
  const CollectiveRequest& request = composer.request();
  if (has_root(request.collective)) return to_or_from_root(composer);
  const Bytes part = largest_part(request), all = request.part();
  const auto input = [&](int rank) { return composer.input(rank); };
  const auto output = [&](int rank) { return composer.output(rank); };
  const bool in_parcels = mail_way(composer.machine(), request.ranks, part) == MailWay::parcels;
  if (in_parcels || can_share_in_lines(composer.ranks(), part)) {
    const Mail shared{
        .use = MailUse::reduce_and_share, .message = part, .stride = part, .end = all};
    return composer.exchange(shared, input, output);
  }
  const auto own = [&](int rank) {
    return composer.output(rank, std::min(part * static_cast<std::uint64_t>(rank), all));
  };
  const Mail values{.use = MailUse::reduce, .message = part, .stride = part, .end = all};
  composer.exchange(values, input, own);
  const Mail results{
      .use = MailUse::store, .message = part, .stride = part, .end = all, .same_for_all = true};
  composer.exchange(results, own, output);
}

// Each of two ranks sends the other both values and results; among more ranks the bound of
// most_mailed() is larger than either. A root has but one rank to send its only part to.
bool can_twoshot(const Machine& machine, const CollectiveRequest& request) {
  if (request.size() == 2 && has_root(request.collective)) return false;
  const Bytes part = largest_part(request);
  return can_mail(machine, request.ranks, request.size() > 2 ? part : part + part);
}

}  // namespace

Algorithm twoshot() {
  return {.name = "twoshot",
          .sentence =
              "a kernel per GPU takes in or reduces its part of what comes, and it or another "
              "sends it on",
          .order = kRankOrder,
          .collectives = {Collective::all_reduce, Collective::reduce, Collective::broadcast},
          .compose = compose_twoshot,
          .can = can_twoshot,
          .why_not =
              "messages that its mailboxes hold, and NVLink between all ranks, are needed; for a "
              "root three ranks",
          .is_kernel = true};
}

}  // namespace polypath::collective
