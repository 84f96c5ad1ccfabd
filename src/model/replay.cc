#include <algorithm>

#include "model/issue.h"
#include "model/predict.h"

namespace polypath {
namespace {

// Puts the copies of transfers on a timeline, in the order and with the waits of the executors.
class Player {
 public:
  Player(const Machine& machine, HopRates& rates, int slots)
      : machine_(machine), fluid_(machine, rates), slots_(static_cast<std::size_t>(slots)) {}

  // The last copy of each path.
  std::vector<ActivityPointer> add(const TransferShape& transfer, const TransferIssue& issue) {
    std::size_t rounds = 0;
    for (const PathShape& path : transfer.paths) rounds = std::max(rounds, path.chunks.size());
    std::vector<Lane> lanes(transfer.paths.size());
    for (std::size_t chunk = 0; chunk < rounds; ++chunk)
      for (std::size_t p = 0; p < lanes.size(); ++p)
        if (chunk < transfer.paths[p].chunks.size())
          add_chunk(transfer.paths[p], issue.paths[p], chunk, lanes[p]);
    std::vector<ActivityPointer> last;
    for (const Lane& lane : lanes)
      last.push_back(lane.seconds.empty() ? lane.first : lane.seconds.back());
    return last;
  }

  Fluid& fluid() { return fluid_; }

 private:
  // What has been put on the two hops of one path so far.
  struct Lane {
    ActivityPointer first;
    std::vector<ActivityPointer> seconds;
  };

  static ActivityPointer copy(HopId hop, Bytes bytes, Seconds issued) {
    auto activity = std::make_shared<Activity>();
    activity->hop = hop;
    activity->bytes = bytes;
    activity->issued = issued;
    return activity;
  }

  void add_chunk(const PathShape& shape, const PathIssue& issue, std::size_t chunk, Lane& lane) {
    const auto first = copy(shape.path.first, shape.chunks[chunk], issue.first[chunk]);
    Fluid::order(lane.first, first, {});
    if (shape.path.staged() && chunk >= slots_)
      Fluid::order(lane.seconds[chunk - slots_], first,
                   machine_.staging(shape.path.second, shape.path.first));
    first->waits = shape.path.staged() && (chunk == 0 || chunk >= slots_);
    fluid_.submit(first);
    lane.first = first;
    if (!shape.path.staged()) return;
    const auto second = copy(shape.path.second, shape.chunks[chunk], issue.second[chunk]);
    Fluid::order(first, second, machine_.staging(shape.path.first, shape.path.second));
    second->waits = true;
    if (!lane.seconds.empty()) Fluid::order(lane.seconds.back(), second, {});
    fluid_.submit(second);
    lane.seconds.push_back(second);
  }

  const Machine& machine_;
  Fluid fluid_;
  std::size_t slots_;
};

}  // namespace

std::vector<Prediction> Predictor::replay(std::span<const TransferShape> transfers, int slots,
                                          std::span<const Seconds> starts) const {
  Player player(*machine_, *rates_, slots);
  std::vector<Prediction> predictions;
  std::vector<std::vector<ActivityPointer>> last;
  for (const TransferShape& transfer : transfers) {
    const Seconds start = starts.empty() ? Seconds{} : starts[predictions.size()];
    const TransferIssue issue = issue_times(*machine_, transfer, slots, start);
    predictions.push_back({issue.done, issue.done, {}, true});
    last.push_back(player.add(transfer, issue));
  }
  player.fluid().drain();
  for (std::size_t t = 0; t < transfers.size(); ++t) {
    Prediction& prediction = predictions[t];
    for (std::size_t p = 0; p < transfers[t].paths.size(); ++p) {
      const Path& path = transfers[t].paths[p].path;
      Seconds finish = last[t][p]->finished;
      if (path.staged()) finish += join_latency(*machine_, path);
      prediction.path_finish.push_back(finish);
      prediction.time = std::max(prediction.time, finish);
    }
    prediction.time += machine_->costs.synchronize;
  }
  return predictions;
}

}  // namespace polypath
