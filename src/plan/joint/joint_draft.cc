#include "plan/joint/joint_draft.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace polypath::plan {
namespace {

constexpr double kMeanWeight = 0.02;
constexpr double kRegretWeight = 20;

Draft direct_draft(const Path& direct) { return {{PathDraft{direct, 1, 1, 0}}, {}}; }

// By transfer, of those in the order of issue.
template <class Value>
std::vector<Value> by_transfer(std::vector<Value> issued, const IssueOrder& order) {
  std::vector<Value> values(issued.size());
  for (std::size_t i = 0; i < issued.size(); ++i) values[order[i]] = std::move(issued[i]);
  return values;
}

}  // namespace

IssueOrder order_asked_for(std::size_t size) {
  IssueOrder order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

bool is_native(const Draft& draft) {
  return draft.paths.size() == 1 && !draft.paths.front().path.staged();
}

bool is_split(const JointDraft& draft) {
  return std::any_of(draft.transfers.begin(), draft.transfers.end(),
                     [](const Draft& own) { return !is_native(own); });
}

JointPredictor::JointPredictor(const Predictor& predictor, JointProblem problem)
    : predictor_(predictor),
      problem_(std::move(problem)),
      order_(order_asked_for(problem_.transfers.size())) {
  for (const JointTransfer& transfer : problem_.transfers)
    splitters_.emplace_back(predictor, problem_.limits, problem_.executor, transfer.bytes);
  JointDraft all;
  for (const auto& paths : problem_.paths) all.transfers.push_back(direct_draft(paths.front()));
  for (const Effort effort : {Effort::quick, Effort::replay})
    for (const Prediction& each : play(all, effort).predictions)
      native_ends_[static_cast<int>(effort)].push_back(each.time);
  if (!problem_.order.empty()) order_ = problem_.order;
}

JointDraft JointPredictor::natively() const {
  JointDraft all;
  for (const auto& paths : problem_.paths) all.transfers.push_back(direct_draft(paths.front()));
  predict(all, Effort::replay);
  return all;
}

Seconds JointPredictor::last_native_end() const {
  const auto& ends = native_ends_[static_cast<int>(Effort::replay)];
  return *std::max_element(ends.begin(), ends.end());
}

TransferShape JointPredictor::shape_of(const JointDraft& draft, std::size_t transfer) const {
  const Draft& own = draft.transfers[transfer];
  if (is_native(own))
    return direct_copy(own.paths.front().path, problem_.transfers[transfer].bytes);
  return splitters_[transfer].shape_of(own);
}

std::vector<TransferShape> JointPredictor::issued(const JointDraft& draft) const {
  std::vector<TransferShape> shapes;
  shapes.reserve(order_.size());
  for (const std::size_t k : order_) shapes.push_back(shape_of(draft, k));
  return shapes;
}

std::vector<Seconds> JointPredictor::call_times(std::span<const TransferShape> issued) const {
  std::vector<Seconds> times;
  times.reserve(issued.size());
  for (const TransferShape& shape : issued)
    times.push_back(predictor_.call_time(shape, problem_.limits.slots));
  return times;
}

std::vector<Seconds> JointPredictor::starts(const JointDraft& draft) const {
  return by_transfer(starts_of(call_times(issued(draft))), order_);
}

std::vector<Seconds> JointPredictor::starts_of(std::span<const Seconds> calls) const {
  std::vector<Seconds> starts(calls.size());
  if (problem_.issuers == Issuers::one_thread && !problem_.queues)
    for (std::size_t i = 1; i < calls.size(); ++i) starts[i] = starts[i - 1] + calls[i - 1];
  return starts;
}

JointPredictor::Played JointPredictor::play(const JointDraft& draft, Effort effort) const {
  const int slots = problem_.limits.slots;
  const std::vector<TransferShape> shapes = issued(draft);
  std::vector<Seconds> calls = call_times(shapes);
  const std::vector<Seconds> starts = starts_of(calls);
  if (effort == Effort::replay)
    for (const TransferShape& shape : shapes)
      for (const PathShape& path : shape.paths) played_ += path.chunks.size();
  KnownPlays& known = known_[static_cast<int>(effort)];
  const std::vector<Prediction>* predictions = known.find(shapes);
  if (predictions != nullptr)
    return {by_transfer(*predictions, order_), by_transfer(std::move(calls), order_)};
  auto played = effort == Effort::quick ? predictor_.predict(shapes, slots, starts)
                                        : predictor_.replay(shapes, slots, starts);
  known.add(played);
  return {by_transfer(std::move(played), order_), by_transfer(std::move(calls), order_)};
}

void JointPredictor::predict(JointDraft& draft, Effort effort) const {
  for (std::size_t k = 0; k < size(); ++k) splitters_[k].drop_idle(draft.transfers[k]);
  Played played = play(draft, effort);
  for (std::size_t k = 0; k < size(); ++k)
    draft.transfers[k].prediction = std::move(played.predictions[k]);
  draft.executor = is_split(draft) ? problem_.executor : Executor::native;
  rate(draft, played.calls, effort);
}

void JointPredictor::rate(JointDraft& draft, std::span<const Seconds> calls, Effort effort) const {
  const auto& natively = native_ends_[static_cast<int>(effort)];
  double mean = 0;
  draft.last = draft.calls = {};
  draft.regret = 1, draft.harm = 0;
  for (std::size_t k = 0; k < size(); ++k) {
    const Draft& transfer = draft.transfers[k];
    const Seconds end = transfer.prediction.time;
    mean += end.value / static_cast<double>(size());
    draft.last = std::max(draft.last, end);
    draft.regret = std::max(draft.regret, end / natively[k]);
    draft.harm += std::max(0.0, end / natively[k] - kAsGoodAsNatively);
    draft.calls += calls[k];
  }
  const bool must_keep_up = problem_.issuers == Issuers::one_thread;
  const Seconds time = must_keep_up ? std::max(draft.last, draft.calls) : draft.last;
  draft.cost = time.value + draft.calls.value * kCallWeight + mean * kMeanWeight +
               draft.last.value * draft.harm * kRegretWeight;
}

}  // namespace polypath::plan
