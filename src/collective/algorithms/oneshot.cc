// One kernel per GPU, for small messages: each sends its elements to all ranks that need them, and
// reduces or stores those that arrive. Each element is reduced by every rank that needs it, in the
// order of the ranks.

#include "collective/algorithms/algorithm.h"
#include "collective/program/mail.h"

namespace polypath::collective {
namespace {

Mail mail_of(const CollectiveRequest& request) {
  const Bytes part = request.part(), stride = request.start_of(1);
  const Bytes all = request.start_of(request.size() - 1) + part;
  const MailUse use = reduces(request.collective) ? MailUse::reduce : MailUse::store;
  const Mail to_all{.use = use, .message = part, .end = part, .same_for_all = true};
  Mail mail = to_all;
  switch (request.collective) {
    case Collective::all_reduce: break;
    case Collective::reduce: mail.receiver = request.root; break;
    case Collective::broadcast: mail.sender = request.root; break;
    case Collective::all_gather: mail.stride = stride, mail.end = all; break;
    case Collective::reduce_scatter:
    case Collective::all_to_all:
    case Collective::all_to_all_v:
      mail.stride = stride, mail.end = all, mail.same_for_all = false;
      break;
  }
  return mail;
}

void compose_oneshot(Composer& composer) {
  composer.exchange(
      mail_of(composer.request()), [&](int rank) { return composer.input(rank); },
      [&](int rank) { return composer.output(rank); });
}

bool can_oneshot(const Machine& machine, const CollectiveRequest& request) {
  return can_mail(machine, request.ranks, request.part());
}

}  // namespace

Algorithm oneshot() {
  return {.name = "oneshot",
          .sentence = "one kernel per GPU sends all it has to all, and reduces what arrives",
          .order = kRankOrder,
          .collectives = {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter,
                          Collective::all_gather, Collective::all_to_all, Collective::broadcast},
          .compose = compose_oneshot,
          .can = can_oneshot,
          .why_not = "messages that its mailboxes hold, and NVLink between all ranks, are needed",
          .is_kernel = true};
}

}  // namespace polypath::collective
