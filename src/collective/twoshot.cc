// Two kernels per GPU, one after the other: by the first each sends every other one its values of
// that one's part, and reduces those of its own; by the second each sends its results to all.
//
// Of a message of S bytes each of n ranks sends 2(n−1)/n·S, where the one kernel of `oneshot` sends
// (n−1)·S: less for more than two, for twice the latency. Parts are ⌈E/n⌉ elements, the last ones
// fewer.

#include <algorithm>

#include "collective/algorithm.h"
#include "collective/mail.h"

namespace polypath {
namespace {

Bytes largest_part(const CollectiveRequest& request) {
  const auto ranks = static_cast<std::uint64_t>(request.size());
  return request.element() * ((request.elements + ranks - 1) / ranks);
}

void compose_twoshot(Composer& composer) {
  const CollectiveRequest& request = composer.request();
  const Bytes part = largest_part(request), all = request.part();
  const auto own = [&](int rank) {
    return composer.output(rank, std::min(part * static_cast<std::uint64_t>(rank), all));
  };
  const Mail values{.use = MailUse::reduce, .message = part, .stride = part, .end = all};
  composer.exchange(
      values, [&](int rank) { return composer.input(rank); }, own);
  const Mail results{
      .use = MailUse::store, .message = part, .stride = part, .end = all, .same_for_all = true};
  composer.exchange(results, own, [&](int rank) { return composer.output(rank); });
}

bool can_twoshot(const Machine& machine, const CollectiveRequest& request) {
  return can_mail(machine, request.ranks, largest_part(request));
}

}  // namespace

Algorithm twoshot() {
  return {.name = "twoshot",
          .sentence = "one kernel per GPU reduces its part of what all send, a second one sends it",
          .order = kRankOrder,
          .collectives = {Collective::all_reduce},
          .compose = compose_twoshot,
          .can = can_twoshot,
          .why_not = "messages that its mailboxes hold, and NVLink between all ranks, are needed",
          .is_kernel = true};
}

}  // namespace polypath
