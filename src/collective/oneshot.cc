// One kernel per GPU, for small messages: each sends what it has to all, and reduces or stores what
// arrives. Each element is reduced by every rank that needs it, in the order of the ranks.

#include "collective/algorithm.h"
#include "collective/mail.h"

namespace polypath {
namespace {

void compose(Composer& composer) {
  const Collective collective = composer.request().collective;
  const bool same_for_all =
      collective == Collective::all_reduce || collective == Collective::all_gather;
  composer.exchange(reduces(collective) ? MailUse::reduce : MailUse::store, same_for_all);
}

bool can(const Machine& machine, const CollectiveRequest& request) {
  return can_mail(machine, request.ranks, request.part());
}

}  // namespace

Algorithm oneshot() {
  return {.name = "oneshot",
          .sentence = "one kernel per GPU sends all it has to all, and reduces what arrives",
          .order = kRankOrder,
          .collectives = {Collective::all_reduce, Collective::reduce_scatter,
                          Collective::all_gather, Collective::all_to_all},
          .compose = compose,
          .can = can,
          .why_not = "messages that its mailboxes hold, and NVLink between all ranks, are needed",
          .is_kernel = true};
}

}  // namespace polypath
