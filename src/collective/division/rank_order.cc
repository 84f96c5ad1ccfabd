#include "collective/division/rank_order.h"

#include <algorithm>
#include <functional>

namespace polypath::collective {

RankOrder::RankOrder(const Machine& machine, const Program& program,
                     const std::vector<PlaceId>& ranks)
    : program_(program),
      access_(machine, program, ranks),
      clocks_(program, access_.ranks()),
      words_(clocks_),
      nodes_(program.nodes().size()),
      entries_(ranks.size()),
      ends_(ranks.size()) {
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) add(node);
  for (int rank = 0; rank < access_.ranks(); ++rank) end(rank);
}

// The latest of the nodes that it names comes first: an earlier node never comes after a later one.
void RankOrder::add(int number) {
  const Node& node = program_.node(number);
  const int rank = access_.rank_of(number);
  nodes_[index_of(number)].rank = rank;
  VectorClock known = clocks_.after_last_of(node.queue);
  known.enter(rank);
  const auto named = program_.after(node);
  std::vector<int> after(named.begin(), named.end());
  std::sort(after.begin(), after.end(), std::greater<>());
  Progress so_far{.all = known, .known = known, .queue = known};
  for (const int earlier : after) so_far.all.join(clocks_.after(earlier));
  await_entries(number, so_far);
  for (const int earlier : after)
    if (!clocks_.has(so_far.known, earlier)) await_node(earlier, number, so_far);
  clocks_.add(number, std::move(so_far.known));
}

void RankOrder::await_entries(int number, Progress& so_far) {
  for (int rank = 0; rank < access_.ranks(); ++rank)
    if (access_.concerns(number, rank) && !so_far.all.has_entered(rank))
      await_entry(rank, number, so_far);
}

void RankOrder::await_entry(int rank, int number, Progress& so_far) {
  RankNode& node = nodes_[index_of(number)];
  auto awaited = entered_.find({node.rank, rank});
  if (awaited == entered_.end()) {
    const int flag = static_cast<int>(flags_.size());
    flags_.push_back({.producer = rank, .consumer = node.rank, .before = number, .after = {}});
    entries_[index_of(rank)].push_back(flag);
    node.awaits.push_back(flag);
    so_far.queue.enter(rank);
    awaited = entered_.try_emplace({node.rank, rank}, Await{flag, so_far.queue}).first;
  } else {
    node.beside.push_back(awaited->second.flag);
  }
  so_far.known.join(awaited->second.known);
  so_far.all.join(so_far.known);
}

const RankOrder::Await* RankOrder::find_await(int earlier, int rank, const VectorClock& all) const {
  const auto found = awaits_.find({rank, program_.node(earlier).queue});
  if (found == awaits_.end()) return nullptr;
  for (const Await& await : found->second)
    if (clocks_.has(await.known, earlier) && all.covers(await.known)) return &await;
  return nullptr;
}

void RankOrder::await_node(int earlier, int number, Progress& so_far) {
  RankNode& node = nodes_[index_of(number)];
  if (nodes_[index_of(earlier)].rank == node.rank) {
    node.after.push_back(earlier);
    return so_far.known.join(clocks_.after(earlier));
  }
  if (const Await* await = find_await(earlier, node.rank, so_far.all)) {
    node.beside.push_back(await->flag);
    return so_far.known.join(await->known);
  }
  const int flag = add_flag(earlier, node.rank, number, so_far.queue);
  node.awaits.push_back(flag);
  so_far.queue.join(clocks_.after(earlier));
  so_far.known.join(so_far.queue);
  awaits_[{node.rank, program_.node(earlier).queue}].push_back({flag, so_far.queue});
}

int RankOrder::add_flag(int earlier, int consumer, int before, const VectorClock& at) {
  const int flag = static_cast<int>(flags_.size()), producer = nodes_[index_of(earlier)].rank;
  flags_.push_back({.producer = producer,
                    .consumer = consumer,
                    .word = words_.take(producer, consumer, earlier, before, at),
                    .before = before,
                    .after = {earlier}});
  nodes_[index_of(earlier)].signals.push_back(flag);
  return flag;
}

// Each other rank has at most one such flag, set when the last of its nodes is done. The caller's
// queue has no node before their awaits.
void RankOrder::end(int rank) {
  VectorClock known = clocks_.nothing();
  for (int queue = 0; queue < static_cast<int>(program_.queues().size()); ++queue)
    if (const int last = clocks_.last_of(queue); last >= 0 && access_.rank_of(last) == rank)
      known.join(clocks_.after(last));
  std::map<int, int> flag_of;  // by producer
  for (const int node : access_.last_touching(rank)) {
    if (clocks_.has(known, node)) continue;
    const auto [flag, is_new] = flag_of.try_emplace(access_.rank_of(node), -1);
    if (is_new)
      ends_[index_of(rank)].push_back(flag->second =
                                          add_flag(node, rank, kEndOfPart, clocks_.nothing()));
    else flags_[index_of(flag->second)].after.push_back(node);
    known.join(clocks_.after(node));
  }
}

}  // namespace polypath::collective
