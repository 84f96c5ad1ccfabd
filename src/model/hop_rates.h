#pragma once
// What the fair rates of copies over a machine's hops are found from, and the rates of those at
// work.
//
// A change reaches only copies that share something full: a resource binds if the copies that use
// it could take more than its capacity, were it the only limit. When a copy begins or ends, rates
// are found anew for what is joined to it by resources that bind; all others keep theirs, which is
// what progressive filling (fair_rates.h) of all of them would find. A resource that one hop alone
// uses limits that hop, and joins it to no other.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "machine/machine.h"
#include "model/fair_rates.h"

namespace polypath::model {

/// The limits of a machine's hops, laid out for finding rates often.
class HopRates {
 public:
  explicit HopRates(const Machine& machine);

  [[nodiscard]] const Machine& machine() const { return machine_; }
  [[nodiscard]] const std::vector<Capacity>& capacities() const { return capacities_; }
  /// Resources whose capacity changes with their credit.
  [[nodiscard]] std::span<const ResourceId> with_burst() const { return with_burst_; }
  [[nodiscard]] std::size_t hops() const { return machine_.hops.size(); }
  [[nodiscard]] double cap(std::int32_t hop) const { return caps_[static_cast<std::size_t>(hop)]; }
  /// What resources that no other hop uses allow all copies over a hop.
  [[nodiscard]] double own(std::int32_t hop) const { return own_[static_cast<std::size_t>(hop)]; }
  /// What a hop takes of the others that limit anything (needed_limits.h).
  [[nodiscard]] std::span<const Use> uses(std::int32_t hop) const {
    const auto i = static_cast<std::size_t>(hop);
    return std::span(uses_).subspan(begins_[i], begins_[i + 1] - begins_[i]);
  }

 private:
  void add_use(const Use& use, bool is_only_user);

  const Machine& machine_;
  std::vector<Capacity> capacities_;
  std::vector<ResourceId> with_burst_;
  std::vector<double> caps_;  ///< of one copy
  std::vector<double> own_;
  std::vector<Use> uses_;  ///< of all hops, one after another
  std::vector<std::size_t> begins_ = {0};
};

/// The fair rate of every hop that is at work.
class RatesAtWork {
 public:
  /// Resources have their peak rates.
  explicit RatesAtWork(const HopRates& hops);

  /// One copy more over a hop, or one less.
  void begin(HopId hop);
  void end(HopId hop);
  /// What copies share of a resource with a burst from now on.
  void limit(ResourceId resource, double capacity);
  /// Finds the rates that all this has changed.
  void find();

  /// Of each copy over the hop, as find() found it.
  [[nodiscard]] double of(HopId hop) const { return at(hop.value).rate; }

 private:
  static constexpr std::size_t kBits = 64;

  struct HopAtWork {
    int copies = 0;
    double rate = -1;  ///< negative while it is not known
  };
  struct ResourceAtWork {
    double capacity = 0;
    double demand = 0;  ///< what its users could take without it
    int copies = 0;     ///< of its users
    bool binds = false, reached = false;
    double left = 0, rising = 0;  ///< while rates are found
    double share = 0;             ///< their quotient
  };
  /// What the copies over a hop take of a resource that binds.
  struct Claim {
    std::size_t resource = 0;
    double weight = 0;
  };
  /// A hop that has no rate yet, with its part of claims_.
  struct Rising {
    std::int32_t hop = 0;
    std::size_t first = 0, end = 0;
    double limit = 0;
    double cap = 0;  ///< of each copy
  };

  [[nodiscard]] static std::size_t index_of(std::int32_t hop) {
    return static_cast<std::size_t>(hop);
  }
  [[nodiscard]] static std::uint64_t bit_of(std::int32_t hop) {
    return std::uint64_t{1} << (index_of(hop) % kBits);
  }
  [[nodiscard]] std::uint64_t& word_of(ResourceId resource, std::int32_t hop) {
    return at_work_[words_ * resource.index() + index_of(hop) / kBits];
  }
  [[nodiscard]] const HopAtWork& at(std::int32_t hop) const { return hops_[index_of(hop)]; }
  [[nodiscard]] HopAtWork& at(std::int32_t hop) { return hops_[index_of(hop)]; }
  [[nodiscard]] ResourceAtWork& at(const Use& use) { return resources_[use.resource.index()]; }
  /// The most that each copy over the hop may take.
  [[nodiscard]] double cap(std::int32_t hop) const {
    return std::min(limits_.cap(hop), limits_.own(hop) / at(hop).copies);
  }
  void change(std::int32_t hop, int copies);
  void reach(std::int32_t hop);
  void reach_users(std::size_t resource);
  void reach_all();
  void fill();
  void claim(std::int32_t hop);
  [[nodiscard]] double find_limits();
  void stop(const Rising& rising, double rate);

  const HopRates& limits_;
  std::vector<HopAtWork> hops_;
  std::vector<ResourceAtWork> resources_;
  std::size_t words_;                        ///< of a set of hops, a bit for each
  std::vector<std::uint64_t> at_work_;       ///< the hops that use a resource now, by resource
  std::vector<std::uint64_t> reached_bits_;  ///< the same as reached_
  std::vector<std::size_t> changed_;         ///< resources that bind, or did
  std::vector<std::int32_t> reached_;        ///< hops whose rates are found anew
  std::vector<Rising> rising_;               ///< of these, those that have none yet
  std::vector<Claim> claims_;                ///< of all that rise, one after another
  std::vector<std::size_t> to_clear_;        ///< resources that were reached
};

}  // namespace polypath::model
