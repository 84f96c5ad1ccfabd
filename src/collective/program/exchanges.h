#pragma once
// Exchanges of messages by kernels, through mailboxes that a program has for all of them.

#include <functional>
#include <optional>
#include <vector>

#include "collective/program/request.h"
#include "collective/program/tuning.h"
#include "kernels/mail.h"
#include "machine/machine.h"
#include "model/kernel.h"
#include "model/program.h"

namespace polypath::collective {

class Exchanges {
 public:
  using SliceOfRank = std::function<Slice(int rank)>;

  /// All of these outlive it.
  Exchanges(const Machine& machine, const CollectiveRequest& request, const Tuning& tuning,
            Program& program)
      : machine_(machine), request_(request), tuning_(tuning), program_(program) {}

  /// The kernels of Composer::exchange, in their order.
  [[nodiscard]] std::vector<KernelCall> calls_for(const Mail& mail, const SliceOfRank& from,
                                                  const SliceOfRank& to);

 private:
  void add_mailboxes();
  [[nodiscard]] MailWay way_of(const Mail& mail) const;
  [[nodiscard]] KernelCall kernel_of(int rank, const Mail& mail, Slice from, Slice to) const;

  const Machine& machine_;
  const CollectiveRequest& request_;
  const Tuning& tuning_;
  Program& program_;
  int groups_ = 0;
  std::optional<int> first_mailbox_;
};

}  // namespace polypath::collective
