#include <algorithm>

#include "model/predict.h"
#include "model/timeline.h"

namespace polypath::model {
namespace {

// When the last byte of each path has arrived and the caller's stream knows of it.
std::vector<Seconds> finish_of_paths(const Machine& machine, const TransferShape& transfer,
                                     const Program& program,
                                     const std::vector<ActivityPointer>& activities) {
  std::vector<Seconds> finish(transfer.paths.size());
  for (std::size_t i = 0; i < activities.size(); ++i) {
    Seconds& end = finish[static_cast<std::size_t>(program.nodes()[i].path)];
    end = std::max(end, activities[i]->finished);
  }
  for (std::size_t p = 0; p < finish.size(); ++p)
    if (transfer.paths[p].path.staged()) finish[p] += join_latency(machine, transfer.paths[p].path);
  return finish;
}

}  // namespace

std::vector<Prediction> Predictor::replay(std::span<const TransferShape> transfers, int slots,
                                          std::span<const Seconds> starts) const {
  Timeline timeline(*machine_, *rates_);
  std::vector<Prediction> predictions;
  std::vector<Program> programs;
  std::vector<std::vector<ActivityPointer>> activities;
  for (const TransferShape& transfer : transfers) {
    const Seconds start = starts.empty() ? Seconds{} : starts[predictions.size()];
    programs.push_back(program_of(*machine_, transfer, slots));
    const IssueTimes issue = issue_times(*machine_, programs.back(), transfer.executor);
    const Seconds done = start + issue.done;
    predictions.push_back({done, done, {}, true});
    activities.push_back(timeline.add(programs.back(), issue, start));
  }
  timeline.play();
  for (std::size_t t = 0; t < transfers.size(); ++t) {
    Prediction& prediction = predictions[t];
    prediction.path_finish = finish_of_paths(*machine_, transfers[t], programs[t], activities[t]);
    for (const Seconds finish : prediction.path_finish)
      prediction.time = std::max(prediction.time, finish);
    prediction.time += machine_->costs.synchronize;
  }
  return predictions;
}

}  // namespace polypath::model
