#include "plan/single/contention.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace polypath::plan {

Bytes size_class(Bytes bytes) {
  const int width = static_cast<int>(std::bit_width(bytes.value));
  const int dropped = std::max(0, width - 4);
  return {bytes.value >> dropped << dropped};
}

TransferShape direct_copy(const Path& direct, Bytes bytes) {
  return {Executor::native, {{direct, {bytes}}}};
}

TransferShape mirror_image(const Machine& machine, const TransferShape& shape) {
  const auto back = [&](HopId hop) {
    return machine.find_hop(machine.hop(hop).destination, machine.hop(hop).source).value_or(hop);
  };
  TransferShape mirrored = shape;
  for (PathShape& part : mirrored.paths) {
    const Path path = part.path;
    part.path = path.staged() ? staged_path(machine, back(path.second), back(path.first))
                              : Path{back(path.first), {}};
  }
  return mirrored;
}

namespace {

// By what they copy where.
std::strong_ordering compare(const PlanPointer& a, const PlanPointer& b) {
  if (a == b) return std::strong_ordering::equal;
  if (!a || !b) return static_cast<bool>(a) <=> static_cast<bool>(b);
  if (const auto order = a->executor() <=> b->executor(); order != 0) return order;
  return a->structure <=> b->structure;
}

// Adds another one right after it, on the same stream.
void repeat(TransferShape& shape) {
  for (PathShape& part : shape.paths) {
    const std::vector<Bytes> once = part.chunks;
    part.chunks.insert(part.chunks.end(), once.begin(), once.end());
  }
}

bool share_an_engine(const Machine& machine, const Hop& a, const Hop& b) {
  for (const Use& use : a.uses)
    for (const Use& other : b.uses)
      if (use.resource == other.resource && machine.resource(use.resource).copies_at_once == 1)
        return true;
  return false;
}

// At their full rates.
bool overfill(const Machine& machine, const Hop& a, const Hop& b) {
  for (const Use& use : a.uses)
    for (const Use& other : b.uses)
      if (use.resource == other.resource &&
          use.weight * a.bandwidth.value + other.weight * b.bandwidth.value >
              machine.resource(use.resource).capacity.value)
        return true;
  return false;
}

}  // namespace

std::strong_ordering ConcurrentTransfer::operator<=>(const ConcurrentTransfer& other) const {
  const auto rest = [](const ConcurrentTransfer& c) {
    return std::tie(c.source, c.destination, c.bytes, c.in_flight, c.queued, c.same_thread);
  };
  const auto order = rest(*this) <=> rest(other);
  return order != 0 ? order : compare(plan, other.plan);
}

bool takes_turns_in_a_chain(const Machine& machine, const ConcurrentTransfers& concurrent,
                            const Path& direct) {
  std::vector<const Hop*> next, further;
  for (const ConcurrentTransfer& each : concurrent) {
    const auto way = machine.find_hop(each.source, each.destination);
    if (!way) continue;
    const Hop& hop = machine.hop(*way);
    (share_an_engine(machine, hop, machine.hop(direct.first)) ? next : further).push_back(&hop);
  }
  return std::any_of(next.begin(), next.end(), [&](const Hop* a) {
    return std::any_of(further.begin(), further.end(), [&](const Hop* b) {
      return share_an_engine(machine, *a, *b) || overfill(machine, *a, *b);
    });
  });
}

Together::Together(const Predictor& predictor, const ConcurrentTransfers& concurrent,
                   const Path& direct, Bytes bytes, BothWays both_ways, int slots)
    : predictor_(predictor), slots_(slots), both_ways_(both_ways) {
  const Machine& machine = predictor.machine();
  const Hop& hop = machine.hop(direct.first);
  for (const ConcurrentTransfer& each : concurrent) {
    const auto way = machine.find_hop(each.source, each.destination);
    if (!way) continue;
    const TransferShape native = direct_copy({*way, {}}, each.bytes);
    const bool follows = each.same_thread && !each.in_flight;
    others_.push_back({each.plan ? each.plan->shape : native, native, follows});
    issued_by_one_thread_ += each.same_thread ? 1 : 0;
    if (each.queued) repeat(others_.back().shape), repeat(others_.back().native);
    if (each.source == hop.destination && each.destination == hop.source) both_ways_ = BothWays::no;
  }
  const bool issues_others = issued_by_one_thread_ > 1 && both_ways_ == BothWays::by_threads;
  if (both_ways_ == BothWays::by_one_thread || issues_others) ++issued_by_one_thread_;
  direct_ = direct_copy(direct, bytes);
  for (const Turn turn : {Turn::first, Turn::last})
    natively_[turn] = play(direct_, {Others::natively, Mirror::as_planned, turn});
}

Together::Ends Together::play(const TransferShape& own, const Scene& scene) const {
  const Machine& machine = predictor_.machine();
  const auto call_of = [&](const TransferShape& shape) {
    return predictor_.call_time(shape, slots_);
  };
  std::vector<TransferShape> all{own};
  std::vector<Seconds> starts{{}};
  Seconds issued = call_of(own);
  const auto add = [&](const TransferShape& shape, bool follows) {
    starts.push_back(follows ? issued : Seconds{});
    if (follows) issued += call_of(shape);
    all.push_back(shape);
  };
  // A transfer that goes natively, though it could gain, is not the worse for being issued later.
  const bool mirrored = scene.mirror == Mirror::as_planned;
  if (both_ways_ != BothWays::no)
    add(mirror_image(machine, mirrored ? own : direct_),
        mirrored && both_ways_ == BothWays::by_one_thread);
  for (const Other& other : others_)
    add(scene.others == Others::natively ? other.native : other.shape, other.follows);
  const auto last = scene.turn == Turn::last ? 1 : 0;  // the first one becomes the last
  std::rotate(all.begin(), all.begin() + last, all.end());
  std::rotate(starts.begin(), starts.begin() + last, starts.end());
  Ends ends = predictor_.replay(all, slots_, starts);
  std::rotate(ends.begin(), ends.end() - last, ends.end());
  return ends;
}

double Together::regret_of(const Ends& ends, Turn turn) const {
  const Ends& natively = natively_.at(turn);
  double regret = 1;
  for (std::size_t i = 0; i < ends.size(); ++i)
    regret = std::max(regret, ends[i].time / natively[i].time);
  return regret;
}

Together::Outcome Together::of(const TransferShape& own) const {
  const Ends ends = play(own, {});
  Outcome outcome{ends.front(), regret_of(ends, Turn::first)};
  const auto look_at = [&](Mirror mirror, Turn turn) {
    const double regret = regret_of(play(own, {Others::as_planned, mirror, turn}), turn);
    outcome.regret = std::max(outcome.regret, regret);
  };
  look_at(Mirror::as_planned, Turn::last);
  if (both_ways_ == BothWays::no || own.executor == Executor::native) return outcome;
  outcome.own.time = std::max(outcome.own.time, ends[1].time);
  for (const Turn turn : {Turn::first, Turn::last}) look_at(Mirror::natively, turn);
  return outcome;
}

}  // namespace polypath::plan
