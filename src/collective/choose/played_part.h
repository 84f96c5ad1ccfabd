#pragma once
// Parts of long messages, which are played in their place.

#include <cstdint>

#include "collective/program/request.h"
#include "collective/program/tuning.h"
#include "model/program.h"

namespace polypath::collective {

/// How many times as long a request's message is as that of a part of it.
double times_of(const CollectiveRequest& request, const CollectiveRequest& part);

/// A piece for each rank: algorithms divide messages among the ranks before they cut them into
/// pieces.
Bytes round_of(const CollectiveRequest& request, const Tuning& tuning);

/// The same request of so many rounds.
CollectiveRequest of_rounds(const CollectiveRequest& request, const Tuning& tuning,
                            std::uint64_t rounds);

/// Of one round, if the message has two at least: every one more does as much again.
CollectiveRequest of_one_round(const CollectiveRequest& request, const Tuning& tuning);

/// The most bytes that go over one hop. Pieces as large cut no message.
Bytes most_over_a_hop(const Program& program);

}  // namespace polypath::collective
