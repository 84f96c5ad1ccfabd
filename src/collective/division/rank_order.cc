#include "collective/division/rank_order.h"

#include <algorithm>
#include <functional>

#include "core/error.h"

namespace polypath {
namespace {

// In place of the node after which a word is free: the part's end.
constexpr int kNever = -1;

}  // namespace

RankOrder::RankOrder(const Machine& machine, const Program& program,
                     const std::vector<PlaceId>& ranks)
    : machine_(machine),
      program_(program),
      ranks_(ranks),
      queues_(program.queues().size()),
      nodes_(program.nodes().size()),
      entries_(ranks.size()),
      ends_(ranks.size()),
      last_(queues_, -1) {
  find_touched();
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) add(node);
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) end(rank);
}

int RankOrder::rank_at(PlaceId place) const {
  const auto found = std::find(ranks_.begin(), ranks_.end(), place);
  return found == ranks_.end() ? -1 : static_cast<int>(found - ranks_.begin());
}

int RankOrder::owner_of(const ProgramBuffer& buffer) const {
  const int rank = rank_at(buffer.place);
  if (rank >= 0 || !buffer.is_scratch()) return rank;
  return rank_at(machine_.executing_gpu(buffer.filled_over));
}

int RankOrder::rank_of(const Node& node) const {
  const PlaceId gpu = program_.queues()[index_of(node.queue)].gpu;
  for (const int rank : {rank_at(gpu), rank_at(program_.buffer(node.destination).place),
                         rank_at(program_.buffer(node.source).place)})
    if (rank >= 0) return rank;
  fail(ErrorCode::internal, "a node of a program is of no rank",
       "neither its queue nor its memory belongs to one");
}

void RankOrder::note_touched(const Node& node, int rank, std::vector<bool>& touched) const {
  const auto note = [&](const Slice& slice) {
    if (program_.buffer(slice).is_mailbox) return;  // kernels order that among themselves
    const int owner = owner_of(program_.buffer(slice));
    if (owner >= 0 && owner != rank) touched[index_of(owner)] = true;
  };
  if (node.operation != Operation::kernel) return note(node.source), note(node.destination);
  for (const Access& access : program_.call_of(node).memory) note(access.slice);
}

void RankOrder::find_touched() {
  touched_.assign(nodes_.size(), std::vector<bool>(ranks_.size()));
  signalled_ = touched_;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = program_.nodes()[i];
    nodes_[i].rank = rank_of(node);
    note_touched(node, nodes_[i].rank, touched_[i]);
    for (const int earlier : program_.after(node))
      if (nodes_[index_of(earlier)].rank != nodes_[i].rank)
        signalled_[index_of(earlier)][index_of(nodes_[i].rank)] = true;
  }
}

void RankOrder::join(Known& known, const Known& other) {
  for (std::size_t i = 0; i < other.size(); ++i) known[i] = std::max(known[i], other[i]);
}

bool RankOrder::covers(const Known& known, const Known& other) {
  return std::equal(known.begin(), known.end(), other.begin(), std::greater_equal<>());
}

RankOrder::Known RankOrder::known_after(int node) const {
  Known known = known_[index_of(node)];
  int& last = known[index_of(program_.node(node).queue)];
  last = std::max(last, node);
  return known;
}

bool RankOrder::is_known(const Known& known, int node) const {
  return known[index_of(program_.node(node).queue)] >= node;
}

// The latest of the nodes that it names comes first: an earlier node never comes after a later one.
void RankOrder::add(int number) {
  const Node& node = program_.node(number);
  const int rank = nodes_[index_of(number)].rank, before = last_[index_of(node.queue)];
  Known known(queues_ + ranks_.size(), -1);
  if (before >= 0) known = known_after(before);
  known[entry_of(rank)] = 0;
  const auto named = program_.after(node);
  std::vector<int> after(named.begin(), named.end());
  std::sort(after.begin(), after.end(), std::greater<>());
  Progress so_far{.all = known, .known = known, .queue = known};
  for (const int earlier : after) join(so_far.all, known_after(earlier));
  await_entries(number, so_far);
  for (const int earlier : after)
    if (!is_known(so_far.known, earlier)) await_node(earlier, number, so_far);
  known_.push_back(std::move(so_far.known));
  last_[index_of(node.queue)] = number;
}

// The ranks whose memory it touches; and the ranks that are told of it, so that their flags are
// free.
void RankOrder::await_entries(int number, Progress& so_far) {
  RankNode& node = nodes_[index_of(number)];
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    const bool concerns =
        touched_[index_of(number)][index_of(rank)] || signalled_[index_of(number)][index_of(rank)];
    if (!concerns || so_far.all[entry_of(rank)] >= 0) continue;
    const auto [awaited, is_new] = entered_.try_emplace({node.rank, rank});
    if (is_new) {
      const int flag = static_cast<int>(flags_.size());
      flags_.push_back({.producer = rank, .consumer = node.rank, .before = number, .after = {}});
      entries_[index_of(rank)].push_back(flag);
      node.awaits.push_back(flag);
      so_far.queue[entry_of(rank)] = 0;
      awaited->second = {flag, so_far.queue};
    } else {
      node.beside.push_back(awaited->second.flag);
    }
    join(so_far.known, awaited->second.known);
    join(so_far.all, so_far.known);
  }
}

const RankOrder::Await* RankOrder::find_await(int earlier, int rank, const Known& all) const {
  const auto found = awaits_.find({rank, program_.node(earlier).queue});
  if (found == awaits_.end()) return nullptr;
  for (const Await& await : found->second)
    if (is_known(await.known, earlier) && covers(all, await.known)) return &await;
  return nullptr;
}

void RankOrder::await_node(int earlier, int number, Progress& so_far) {
  RankNode& node = nodes_[index_of(number)];
  if (nodes_[index_of(earlier)].rank == node.rank) {
    node.after.push_back(earlier);
    return join(so_far.known, known_after(earlier));
  }
  if (const Await* await = find_await(earlier, node.rank, so_far.all)) {
    node.beside.push_back(await->flag);
    return join(so_far.known, await->known);
  }
  const int flag = add_flag(earlier, node.rank, number, so_far.queue);
  node.awaits.push_back(flag);
  join(so_far.queue, known_after(earlier));
  join(so_far.known, so_far.queue);
  awaits_[{node.rank, program_.node(earlier).queue}].push_back({flag, so_far.queue});
}

int RankOrder::add_flag(int earlier, int consumer, int before, const Known& at) {
  const int flag = static_cast<int>(flags_.size()), producer = nodes_[index_of(earlier)].rank;
  flags_.push_back({.producer = producer,
                    .consumer = consumer,
                    .word = free_word(producer, consumer, earlier, at),
                    .before = before,
                    .after = {earlier}});
  words_[{producer, consumer}][index_of(flags_.back().word - 1)] = before;
  nodes_[index_of(earlier)].signals.push_back(flag);
  return flag;
}

// Word 0 is the entry. A word that the consumer has cleared before the signal may be used again, if
// the new consumer's node comes after that, too: else it would take the first signal for its own.
int RankOrder::free_word(int producer, int consumer, int earlier, const Known& at) {
  std::vector<int>& freed_by = words_[{producer, consumer}];
  const auto is_free = [&](int node) {
    return node != kNever && is_known(known_[index_of(earlier)], node) && is_known(at, node);
  };
  const auto found = std::find_if(freed_by.begin(), freed_by.end(), is_free);
  const int word = static_cast<int>(found - freed_by.begin()) + 1;
  if (found == freed_by.end()) freed_by.push_back(kNever);
  return word;
}

// Of each queue of another rank the last node that touches the rank's memory, the latest first.
std::vector<int> RankOrder::last_touching(int rank) const {
  std::vector<int> last(queues_, -1);
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (touched_[i][index_of(rank)])
      last[index_of(program_.nodes()[i].queue)] = static_cast<int>(i);
  std::erase(last, -1);
  std::sort(last.begin(), last.end(), std::greater<>());
  return last;
}

// Each other rank has at most one such flag, set when the last of its nodes is done.
void RankOrder::end(int rank) {
  Known known(queues_ + ranks_.size(), -1);
  for (std::size_t queue = 0; queue < queues_; ++queue)
    if (last_[queue] >= 0 && nodes_[index_of(last_[queue])].rank == rank)
      join(known, known_after(last_[queue]));
  const Known nothing(queues_ + ranks_.size(), -1);  // the caller's queue has no node before it
  std::map<int, int> flag_of;                        // by producer
  for (const int node : last_touching(rank)) {
    if (is_known(known, node)) continue;
    const auto [flag, is_new] = flag_of.try_emplace(nodes_[index_of(node)].rank, -1);
    if (is_new)
      ends_[index_of(rank)].push_back(flag->second = add_flag(node, rank, kNever, nothing));
    else flags_[index_of(flag->second)].after.push_back(node);
    join(known, known_after(node));
  }
}

int RankOrder::words() const {
  std::size_t most = 0;
  for (const auto& [pair, words] : words_) most = std::max(most, words.size());
  return static_cast<int>(most) + 1;
}

}  // namespace polypath
