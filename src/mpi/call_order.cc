#include "mpi/call_order.h"

#include <algorithm>

namespace polypath::mpi {

CallOrder::Place::Place(CallOrder& order, int rank_of_process) : order_(order) {
  const std::scoped_lock lock(order_.mutex_);
  number_ = ++order_.latest_ << kRankBits | rank_of_process;
  order_.numbers_.insert(number_);
}

CallOrder::Place::~Place() {
  const std::scoped_lock lock(order_.mutex_);
  order_.numbers_.erase(number_);
}

void CallOrder::Place::settle(Count largest) {
  const std::scoped_lock lock(order_.mutex_);
  order_.numbers_.erase(number_);
  number_ = largest;
  order_.numbers_.insert(number_);
  order_.latest_ = std::max(order_.latest_, number_ >> kRankBits);
}

bool CallOrder::Place::is_first() const {
  const std::scoped_lock lock(order_.mutex_);
  return *order_.numbers_.begin() == number_;
}

}  // namespace polypath::mpi
