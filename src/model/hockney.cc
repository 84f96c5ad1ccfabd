#include "model/hockney.h"

namespace polypath::model {

std::vector<double> closed_form_shares(std::span<const LinearTime> paths, Bytes bytes) {
  std::vector<bool> used(paths.size(), true);
  std::vector<double> shares(paths.size(), 0);
  while (true) {
    double inverse_sum = 0, delta_sum = 0;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (!used[i]) continue;
      inverse_sum += 1 / paths[i].slope;
      delta_sum += paths[i].offset.value / paths[i].slope;
    }
    const double finish = (bytes.real() + delta_sum) / inverse_sum;
    bool dropped = false;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      shares[i] = used[i] ? (finish - paths[i].offset.value) / paths[i].slope / bytes.real() : 0;
      if (shares[i] < 0) used[i] = false, dropped = true;
    }
    if (!dropped) return shares;
  }
}

}  // namespace polypath::model
